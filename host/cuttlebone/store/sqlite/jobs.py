"""The durable job store: it changes jobs through the writer and looks at them through readers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Final

from cuttlebone.job.job import Accounting, Fence, Job, JobKey, JobStatusRow
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.store.events import GAPS_KEPT_MAX
from cuttlebone.store.moments import microseconds
from cuttlebone.store.sqlite import changes, selection
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.insertion import insert
from cuttlebone.store.sqlite.reading import (
    COUNT,
    STORED_BYTES,
    UNFINISHED_BY_SPEC,
    expired_in,
    job_in,
    position_in,
    status_in,
)
from cuttlebone.store.sqlite.rows import accounting_bytes, row_of
from cuttlebone_abi import Envelope, JobStatus, dump_json

WIPED_AT_ONCE_MAX: Final = 500
"""Jobs that one commit wipes at most: a day's jobs at once would hold up everything else."""


class SqliteJobs:
    """See `JobStore`."""

    def __init__(self, database: Database, *, gaps_kept_max: int = GAPS_KEPT_MAX) -> None:
        self._database = database
        self._gaps_kept_max = gaps_kept_max

    def insert(
        self,
        job: Job,
        *,
        waiting_max: int,
        tenant_waiting_max: int | None = None,
        idempotency_key: str | None = None,
        spec_document: bytes | None = None,
    ) -> Future[Job]:
        """Keep a queued job and give it, or the one that the same request made before."""
        row = row_of(job)  # here, not in the thread that everybody waits for
        return self._database.begin(
            lambda transaction: insert(
                transaction,
                job,
                row,
                waiting_max,
                tenant_waiting_max,
                idempotency_key,
                spec_document,
            )
        )

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt, with a lease."""
        owner = self._database.owner
        return self._database.insist(
            lambda transaction: changes.claim(transaction, owner, tenant_running_max)
        )

    def renew(self) -> None:
        """Say that what this owner runs is still being run."""
        owner = self._database.owner
        self._database.do(lambda transaction: changes.renew(transaction, owner))

    def recover(self) -> Sequence[Job]:
        """Queue again what nobody runs any more; return these jobs, each with one crash more."""
        owner = self._database.owner
        return self._database.do(lambda transaction: changes.recover(transaction, owner))

    def release(self, fence: Fence) -> None:
        """Put a running attempt back to its place in the queue."""
        self._database.insist(lambda transaction: changes.release(transaction, fence))

    def finish(self, fence: Fence, *, envelope: Envelope, accounting: Accounting | None) -> bool:
        """Make the job final with all that follows, if that is still its attempt."""
        kept, spent = dump_json(envelope), accounting_bytes(accounting)
        return self._database.insist(
            lambda transaction: changes.finish(transaction, fence, envelope.status, kept, spent)
        )

    def finish_all(self, fences: Sequence[Fence], *, envelope: Envelope) -> Sequence[bool]:
        """Make jobs final that never ran, all with one envelope; return which of them were still there."""
        kept = dump_json(envelope)
        return self._database.insist(
            lambda transaction: [
                changes.finish(transaction, fence, envelope.status, kept, None) for fence in fences
            ]
        )

    def request_cancel_all(self, wanted: JobFilter) -> Sequence[JobStatusRow]:
        """Mark jobs that are not final and not marked, at most `wanted.limit`; return them."""
        return self._database.do(
            lambda transaction: selection.request_cancel_of(transaction, wanted)
        )

    def request_cancel(self, key: JobKey) -> JobStatusRow | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""
        self._database.do(lambda transaction: changes.request_cancel(transaction, key))
        return self.status(key)

    def forget(self, key: JobKey) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""
        wiped = self._database.do(lambda transaction: changes.forget(transaction, key))
        if wiped:
            self._database.truncate_log()
        return wiped

    def forget_all(self, wanted: JobFilter) -> int:
        """Wipe final jobs, at most `wanted.limit`; return how many."""
        wiped = self._database.do(lambda transaction: selection.forget(transaction, wanted))
        if wiped:
            self._database.truncate_log()
        return wiped

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""
        wiped, more = 0, WIPED_AT_ONCE_MAX
        while more == WIPED_AT_ONCE_MAX:
            more = self._database.do(
                lambda transaction: changes.forget_finished(
                    transaction, moment, ttl_s, WIPED_AT_ONCE_MAX
                )
            )
            wiped += more
        self._database.do(lambda transaction: changes.forget_gaps(transaction, self._gaps_kept_max))
        self._database.truncate_log()
        return wiped

    def get(self, key: JobKey) -> Job | None:
        """The job as it stands, whole."""
        with self._database.reader() as reader:
            return job_in(reader, key)

    def status(self, key: JobKey) -> JobStatusRow | None:
        """Where the job stands."""
        with self._database.reader() as reader:
            return status_in(reader, key)

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        with self._database.reader() as reader:
            return selection.jobs_in(reader, wanted)

    def count(self, wanted: JobFilter) -> int:
        """How many jobs are meant, whatever `wanted.limit`."""
        with self._database.reader() as reader:
            return selection.count_in(reader, wanted)

    def position(self, key: JobKey) -> int | None:
        """How many queued jobs of its tenant go before this queued one; None if it is not queued."""
        with self._database.reader() as reader:
            return position_in(reader, key)

    def expired(self, moment: datetime) -> Sequence[JobStatusRow]:
        """The queued jobs that were not to wait beyond `moment`."""
        with self._database.reader() as reader:
            return expired_in(reader, microseconds(moment))

    def waiting(self) -> int:
        """How many jobs are queued."""
        return self._counted(COUNT, JobStatus.QUEUED)

    def running(self, tenant: str) -> int:
        """How many jobs of a tenant run."""
        return self._counted(
            "select count(*) from jobs where status = 'running' and tenant = ?", tenant
        )

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""
        with self._database.reader() as reader:
            rows = reader.execute("select status, jobs from job_counts").fetchall()
        return {JobStatus(status): jobs for status, jobs in rows}

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes."""
        return self._counted(STORED_BYTES, tenant)

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""
        with self._database.reader() as reader:
            row = reader.execute(
                "select document from spec_documents where sha256 = ?", (sha256,)
            ).fetchone()
        return None if row is None else row["document"]

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`."""
        with self._database.reader() as reader:
            rows = reader.execute(UNFINISHED_BY_SPEC).fetchall()
        return {sha256: int(jobs) for sha256, jobs in rows}

    def _counted(self, query: str, value: str) -> int:
        with self._database.reader() as reader:
            (found,) = reader.execute(query, (value,)).fetchone()
        return int(found)
