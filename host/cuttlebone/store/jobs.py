"""What keeps jobs: acceptance, the queue, attempts and their leases, ends, listings."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Final, Protocol

from cuttlebone.job.job import Accounting, Fence, Job, JobKey, JobStatusRow
from cuttlebone.job.job_filter import JobFilter
from cuttlebone_abi import Envelope, JobStatus

POSITION_MAX: Final = 100
"""Up to which the place of a job in the queue is counted: whoever submits asks for it each time."""


class JobStore(Protocol):
    """Keeps jobs. Any thread may call it; each call is atomic.

    Invariants: a status only moves forward, but for `release` and `recover`; a final job never changes; the
    envelope is there before anybody can see a final status; the last event of a final job is its
    result; a job is run by at most one owner. What a call returns is as durable as the store can make it.

    While the store cannot be written, `insert`, `request_cancel`, `renew`, `forget` and those for all
    of a filter raise StoreUnavailable and keep nothing; what job threads write is tried again until it is written
    or, after `hurry` of the stores, raises StoreUnavailable as well: the next start finds the job
    still running.
    """

    def insert(
        self,
        job: Job,
        *,
        waiting_max: int,
        tenant_waiting_max: int | None = None,
        idempotency_key: str | None = None,
        spec_document: bytes | None = None,
    ) -> Future[Job]:
        """Keep a queued job: the future gives this very `job`, or the one that the same request made before.

        `spec_document` is what `job.spec_sha256` is the digest of: it is kept once for all jobs that
        name it, until the last of them is wiped.
        Within a tenant, the same request has the same id or the same idempotency key. The future
        always ends, so that many can be on their way at once; it may raise StoreUnavailable and
        CallerError: `queue_full`, `quota_exceeded` where the tenant has `tenant_waiting_max` jobs
        waiting, `idempotency_mismatch` or `job_exists` for another request.
        """

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt, with a lease.

        A tenant with `tenant_running_max` jobs running is passed over.
        """

    def renew(self) -> None:
        """Say that what this owner runs is still being run: its leases begin anew."""

    def recover(self) -> Sequence[Job]:
        """Queue again what nobody runs any more; return these jobs, each with one crash more.

        That is what ran in an earlier life of this owner, and what another owner has let expire.
        """

    def release(self, fence: Fence) -> None:
        """Put a running attempt back to its place in the queue: the host stops before it ends."""

    def finish(self, fence: Fence, *, envelope: Envelope, accounting: Accounting | None) -> bool:
        """Make the job final with all that follows, if that is still its attempt (compare and set)."""

    def finish_all(self, fences: Sequence[Fence], *, envelope: Envelope) -> Sequence[bool]:
        """Do as `finish` does for jobs that never ran, all with one envelope, in one commit."""

    def request_cancel_all(self, wanted: JobFilter) -> Sequence[JobStatusRow]:
        """Mark jobs that are not final and not marked, at most `wanted.limit`, in one commit; return them."""

    def request_cancel(self, key: JobKey) -> JobStatusRow | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""

    def get(self, key: JobKey) -> Job | None:
        """The job as it stands, whole."""

    def status(self, key: JobKey) -> JobStatusRow | None:
        """Where the job stands. It costs the same however large the job is."""

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""

    def count(self, wanted: JobFilter) -> int:
        """How many jobs are meant, whatever `wanted.limit`. Those that have not ended are found at once."""

    def position(self, key: JobKey) -> int | None:
        """How many queued jobs of its tenant go before this queued one; None if it is not queued.

        What others do does not show in it. It is counted up to POSITION_MAX.
        """

    def expired(self, moment: datetime) -> Sequence[JobStatusRow]:
        """The queued jobs that were not to wait beyond `moment`."""

    def waiting(self) -> int:
        """How many jobs are queued."""

    def running(self, tenant: str) -> int:
        """How many jobs of a tenant run."""

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes. It takes its time."""

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`. It takes its time."""

    def forget(self, key: JobKey) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""

    def forget_all(self, wanted: JobFilter) -> int:
        """Wipe final jobs, at most `wanted.limit`, in one commit; return how many."""

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""
