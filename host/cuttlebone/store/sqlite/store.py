"""The durable job store behind its protocol: writes go to the writer thread, reads to readers."""

import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import structlog
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_when_event_set,
    wait_exponential,
)

from cuttlebone.errors import OperatorError, StoreUnavailable
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Accounting, Job, JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.sqlite import changes
from cuttlebone.store.sqlite.deliveries import SqliteDeliveries
from cuttlebone.store.sqlite.reading import (
    COUNT,
    FILE_NAME,
    UNFINISHED_BY_SPEC,
    events_in,
    job_in,
    jobs_in,
    journal_in,
    journal_parts_in,
    position_in,
)
from cuttlebone.store.sqlite.rows import entry_row, job_of, microseconds, part_row, row_of
from cuttlebone.store.sqlite.schema import connect, open_database, truncate_log
from cuttlebone.store.sqlite.writer import Change, Writer
from cuttlebone_abi import Envelope, JobStatus, Json

READERS_KEPT_MAX: Final = 16
"""Idle reading connections; more are opened when needed and closed again."""


RETRY_S_MAX: Final = 2.0

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class SqliteJobStore:
    """Keeps jobs in one SQLite file of a folder that this host alone uses. See `JobStore`.

    Any thread may call it. Invariants: only the writer thread writes; a reader is used by one
    thread at a time and sees what was committed when it began.
    """

    durable = True

    def __init__(self, folder: Path, *, metrics: HostMetrics | None = None) -> None:
        """Open or make the store; raise OperatorError if it is damaged, too new or in use."""
        self._hurrying = threading.Event()
        self._path = folder / FILE_NAME
        self._lock = _lock_folder(folder)
        self._writer = Writer(open_database(self._path), metrics)
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue(READERS_KEPT_MAX)
        self.deliveries = SqliteDeliveries(self._writer, self._reader)

    def hurry(self) -> None:
        """Try nothing again from now on: the host is stopping."""
        self._hurrying.set()
        self._writer.hurry()

    def close(self) -> None:
        """Write what is outstanding, close all connections, let the folder go."""
        self.hurry()
        # The readers first: only a last connection that writes takes the log of changes away.
        self._close_readers()
        self._writer.close()
        self._close_readers()
        os.close(self._lock)

    # --- writing ----------------------------------------------------------------------------

    def accept(
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
        return self._writer.begin(
            lambda connection: changes.accept(
                connection,
                job,
                row,
                waiting_max,
                tenant_waiting_max,
                idempotency_key,
                spec_document,
            )
        )

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt."""
        return self._insist(lambda connection: changes.claim(connection, tenant_running_max))

    def append(self, job: Job, kind: EventKind, data: Json, *, after: Callable[[], None]) -> None:
        """Add to the event log of a running attempt and call `after` once it can be read."""
        self._writer.post(
            lambda connection: changes.append(connection, job, kind, data), after=after
        )

    def record(self, job: Job, entry: JournalEntry) -> None:
        """Keep one entry of the journal; one that is dear is durable when this returns."""
        row = entry_row(entry)  # compressed here, not in the thread that everybody waits for

        def change(connection: sqlite3.Connection) -> None:
            changes.record(connection, job, row)

        if entry.dear:
            self._insist(change)
        else:
            self._writer.post(change)

    def record_part(self, job: Job, part: JournalPart) -> None:
        """Keep one generation of an `infer_many`; it is durable when this returns."""
        row = part_row(part)
        self._insist(lambda connection: changes.record_part(connection, job, row))

    def request_cancel(self, job_id: str) -> Job | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""
        self._writer.do(lambda connection: changes.request_cancel(connection, job_id))
        return self.get(job_id)

    def finish(
        self, job_id: str, *, attempt: int, envelope: Envelope, accounting: Accounting | None
    ) -> bool:
        """Make the job final, if it is not yet and this is still its attempt (compare and set)."""
        return self._insist(
            lambda connection: changes.finish(connection, job_id, attempt, envelope, accounting)
        )

    def release(self, job: Job) -> None:
        """Put a running attempt back to its place in the queue."""
        self._insist(lambda connection: changes.release(connection, job))

    def forget(self, job_id: str) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""
        wiped = self._writer.do(lambda connection: changes.forget(connection, job_id))
        if wiped:
            truncate_log(self._path)
        return wiped

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""
        wiped = self._writer.do(
            lambda connection: changes.forget_finished_before(connection, moment, ttl_s)
        )
        truncate_log(self._path)
        return wiped

    def recover(self) -> Sequence[Job]:
        """At a start: queue again what was running when the last host died; return these jobs."""
        return self._writer.do(changes.recover)

    # --- reading ----------------------------------------------------------------------------

    def get(self, job_id: str) -> Job | None:
        """The job as it stands."""
        with self._reader() as reader:
            return job_in(reader, job_id)

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        with self._reader() as reader:
            return jobs_in(reader, wanted)

    def position(self, job_id: str) -> int | None:
        """How many queued jobs go before this queued one; None if it is not queued."""
        with self._reader() as reader:
            return position_in(reader, job_id)

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""
        with self._reader() as reader:
            rows = reader.execute("select status, jobs from job_counts").fetchall()
        return {JobStatus(status): jobs for status, jobs in rows}

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes."""
        with self._reader() as reader:
            (stored,) = reader.execute(changes.STORED_BYTES, (tenant,)).fetchone()
        return int(stored)

    def waiting(self) -> int:
        """How many jobs are queued."""
        with self._reader() as reader:
            (waiting,) = reader.execute(COUNT, (JobStatus.QUEUED,)).fetchone()
        return int(waiting)

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""
        with self._reader() as reader:
            row = reader.execute(
                "select document from spec_versions where sha256 = ?", (sha256,)
            ).fetchone()
        return None if row is None else row["document"]

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`."""
        with self._reader() as reader:
            rows = reader.execute(UNFINISHED_BY_SPEC).fetchall()
        return {sha256: int(jobs) for sha256, jobs in rows}

    def events(self, job_id: str, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        with self._reader() as reader:
            return events_in(reader, job_id, after=after, limit=limit)

    def count_events(self, job_id: str, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""
        with self._reader() as reader:
            (found,) = reader.execute(
                "select count(*) from job_events "
                "where job = (select number from jobs where id = ?) and kind = ?",
                (job_id, kind),
            ).fetchone()
        return int(found)

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """All entries, in order."""
        with self._reader() as reader:
            return journal_in(reader, job_id)

    def journal_parts(self, job_id: str) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""
        with self._reader() as reader:
            return journal_parts_in(reader, job_id)

    def expired(self, moment: datetime) -> Sequence[Job]:
        """The queued jobs that were not to wait beyond `moment`."""
        with self._reader() as reader:
            rows = reader.execute(
                "select * from jobs where status = 'queued' and expires_us is not null "
                "and expires_us <= ?",
                (microseconds(moment),),
            )
            return [job_of(row) for row in rows]

    def _insist(self, change: Change[T]) -> T:
        """Apply a change, again and again while the store cannot be written, until `hurry`."""
        result: T = Retrying(
            retry=retry_if_exception_type(StoreUnavailable),
            wait=wait_exponential(multiplier=0.05, max=RETRY_S_MAX),
            stop=stop_when_event_set(self._hurrying),
            sleep=sleep_using_event(self._hurrying),
            before_sleep=_log_unavailable,
            reraise=True,
        )(self._writer.do, change)
        return result

    def _close_readers(self) -> None:
        while not self._readers.empty():
            self._readers.get_nowait().close()

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            reader = self._readers.get_nowait()
        except queue.Empty:
            reader = connect(self._path, read_only=True)
        try:
            yield reader
        finally:
            try:
                self._readers.put_nowait(reader)
            except queue.Full:
                reader.close()


def _log_unavailable(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome is not None else None
    _log.error("the job store cannot be written; trying again", reason=str(error))


def _lock_folder(folder: Path) -> int:
    """Take the folder for this process; raise OperatorError if another host has it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperatorError(
            f"the state folder {folder} cannot be used: {error.strerror}; give another --state DIR"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise OperatorError(
            f"another host uses the state folder {folder}; stop it, or give another --state DIR"
        ) from None
    return lock
