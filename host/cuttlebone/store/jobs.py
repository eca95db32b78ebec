"""What keeps jobs: the protocol that the in-memory store and the durable one share."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Protocol

from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Accounting, Job, JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.store.outbox import DeliveryLog
from cuttlebone_abi import Envelope, JobStatus, Json


class JobStore(Protocol):
    """Keeps jobs, their event logs and their journals. Any thread may call it; each call is atomic.

    Invariants: a status only moves forward, but for `release` and `recover`; a final job never changes; the
    envelope is there before anybody can see a final status; the last event of a final job is its
    result. What a call returns is as durable as the store can make it, but for `append`.

    While the store cannot be written, `accept`, `request_cancel` and `forget` raise
    StoreUnavailable and keep nothing; what job threads write is tried again until it is written
    or, after `hurry`, raises StoreUnavailable as well: the next start finds the job still running.
    """

    durable: bool
    """Whether jobs outlive the host, so that it may leave them for its next start."""

    @property
    def deliveries(self) -> DeliveryLog:
        """What is told to callbacks: `finish` adds to it, `forget` takes from it."""

    def accept(
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
        name it, until the last of them is wiped. The same request has the same id or, within a tenant, the same idempotency key. The future
        always ends, so that many can be on their way at once; it may raise StoreUnavailable and
        CallerError: `queue_full`, `quota_exceeded` where the tenant has `tenant_waiting_max` jobs
        waiting, `idempotency_mismatch` or `job_exists` for another request.
        """

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt.

        A tenant with `tenant_running_max` jobs running is passed over.
        """

    def get(self, job_id: str) -> Job | None:
        """The job as it stands."""

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""

    def position(self, job_id: str) -> int | None:
        """How many queued jobs go before this queued one; None if it is not queued."""

    def waiting(self) -> int:
        """How many jobs are queued."""

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes. It takes its time."""

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`. It takes its time."""

    def append(self, job: Job, kind: EventKind, data: Json, *, after: Callable[[], None]) -> None:
        """Add to the event log of a running attempt and call `after` once it can be read.

        A progress event becomes the job's progress too. An attempt that is over adds nothing. May
        return before the event is durable; whatever is recorded or finished later is so after it.
        """

    def events(self, job_id: str, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`.

        There may be fewer at a time where they are large, but none only if there are none.
        """

    def count_events(self, job_id: str, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""

    def record(self, job: Job, entry: JournalEntry) -> None:
        """Keep one entry of the journal of a running attempt.

        A generation is durable when this returns; any other entry is so soon after, and before
        whatever is recorded or finished later: it can be had again. The parts of the step go.
        """

    def record_part(self, job: Job, part: JournalPart) -> None:
        """Keep one generation of an `infer_many` of a running attempt; it is durable when this returns.

        It is there until the whole entry is, or until the job is final.
        """

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """All entries, in order."""

    def journal_parts(self, job_id: str) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""

    def request_cancel(self, job_id: str) -> Job | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""

    def finish(
        self, job_id: str, *, attempt: int, envelope: Envelope, accounting: Accounting | None
    ) -> bool:
        """Make the job final, if it is not yet and this is still its attempt (compare and set)."""

    def release(self, job: Job) -> None:
        """Put a running attempt back to its place in the queue: the host stops before it ends."""

    def forget(self, job_id: str) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""

    def expired(self, moment: datetime) -> Sequence[Job]:
        """The queued jobs that were not to wait beyond `moment`."""

    def recover(self) -> Sequence[Job]:
        """At a start: queue again what ran when the last host died; return these jobs.

        Each has one crash more.
        """

    def hurry(self) -> None:
        """Try nothing again from now on: the host is stopping, whether or not the disk is full."""

    def close(self) -> None:
        """Write what is outstanding and let go of everything."""


def queue_full(waiting_max: int) -> CallerError:
    """The refusal of a job that finds no place in the queue."""
    return CallerError(
        ProblemCode.QUEUE_FULL,
        f"{waiting_max} jobs wait already (`jobs_waiting_max`); try again later",
        retry_after_s=RETRY_LATER_S,
    )


def tenant_queue_full(waiting_max: int) -> CallerError:
    """The refusal of a job whose tenant has its share of the queue already."""
    return CallerError(
        ProblemCode.QUOTA_EXCEEDED,
        f"{waiting_max} jobs of this tenant wait already (`tenant_jobs_waiting_max`); "
        "try again later",
        retry_after_s=RETRY_LATER_S,
    )


def job_exists(job_id: str) -> CallerError:
    """The refusal of a new request under the id of another one."""
    return CallerError(
        ProblemCode.JOB_EXISTS,
        f"there is another job with the id {job_id}; choose a new id for a new request",
    )


def idempotency_mismatch() -> CallerError:
    """The refusal of a new request under the idempotency key of another one."""
    return CallerError(
        ProblemCode.IDEMPOTENCY_MISMATCH,
        "this Idempotency-Key was used for another request; use a new key for a new request",
    )
