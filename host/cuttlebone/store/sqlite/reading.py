"""What is read of one job, by the store that is open and by whoever looks into its file from outside."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import Job, JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job.recorded_job import RecordedJob, recorded_job
from cuttlebone.store.sqlite.rows import entry_of, event_of, job_of, part_of
from cuttlebone.store.sqlite.schema import connect
from cuttlebone.text import printable
from cuttlebone_abi import JobStatus

FILE_NAME: Final = "jobs.sqlite"
"""The database in a state folder."""

EVENT_BYTES_READ_MAX: Final = 1 << 20
"""What one read of an event log returns at most, but for the last event: a reader who stalls in the
middle of it holds no more than that."""

UNFINISHED_BY_SPEC: Final = """
select spec_sha256, count(*) from jobs
where status in ('queued', 'running') and spec_sha256 is not null group by spec_sha256
"""
COUNT: Final = "select jobs from job_counts where status = ?"
_PLACE: Final = "select rank, number from jobs where id = ? and status = 'queued'"
_BEHIND_MAX: Final = 1_000
_BEHIND: Final = """
select count(*) from
(select 1 from jobs where status = 'queued' and (rank, number) > (?, ?) limit ?)
"""
_BEFORE: Final = "select count(*) from jobs where status = 'queued' and (rank, number) < (?, ?)"


def job_in(connection: sqlite3.Connection, job_id: str) -> Job | None:
    """The job as it stands."""
    row = connection.execute("select * from jobs where id = ?", (job_id,)).fetchone()
    return None if row is None else job_of(row)


def jobs_in(connection: sqlite3.Connection, wanted: JobFilter) -> list[Job]:
    """Jobs, newest first, at most `wanted.limit`."""
    conditions, values = _conditions(wanted)
    where = f"where {' and '.join(conditions)}" if conditions else ""
    query = f"select * from jobs {where} order by number desc limit ?"  # noqa: S608  # conditions of our own
    return [job_of(row) for row in connection.execute(query, (*values, wanted.limit))]


def position_in(connection: sqlite3.Connection, job_id: str) -> int | None:
    """How many queued jobs go before this queued one; None if it is not queued.

    Most ask for a job that has just come, so what comes after it is counted first, and only where
    that is much, what goes before. Either is exact: one transaction sees one state.
    """
    connection.execute("begin")
    try:
        place = connection.execute(_PLACE, (job_id,)).fetchone()
        if place is None:
            return None
        (behind,) = connection.execute(_BEHIND, (*place, _BEHIND_MAX)).fetchone()
        if behind == _BEHIND_MAX:
            (before,) = connection.execute(_BEFORE, tuple(place)).fetchone()
            return int(before)
        (waiting,) = connection.execute(COUNT, (JobStatus.QUEUED,)).fetchone()
        return int(waiting) - int(behind) - 1
    finally:
        connection.execute("commit")


def events_in(
    connection: sqlite3.Connection, job_id: str, *, after: int, limit: int
) -> list[JobEvent]:
    """The events with numbers above `after`, in order: at most `limit`, and fewer large ones."""
    rows = connection.execute(
        "select * from job_events where job = (select number from jobs where id = ?) "
        "and number > ? order by number limit ?",
        (job_id, after, limit),
    )
    events, size = [], 0
    for row in rows:
        events.append(event_of(row))
        size += len(row["data"])
        if size >= EVENT_BYTES_READ_MAX:
            break
    return events


def journal_in(connection: sqlite3.Connection, job_id: str) -> list[JournalEntry]:
    """All entries of a journal, in order."""
    rows = connection.execute(
        "select * from journal where job = (select number from jobs where id = ?) order by step",
        (job_id,),
    )
    return [entry_of(row) for row in rows]


def journal_parts_in(connection: sqlite3.Connection, job_id: str) -> list[JournalPart]:
    """The parts of entries that are not there yet, by step and number."""
    rows = connection.execute(
        "select * from journal_parts where job = (select number from jobs where id = ?) "
        "order by step, number",
        (job_id,),
    )
    return [part_of(row) for row in rows]


def _conditions(wanted: JobFilter) -> tuple[list[str], list[str | int]]:
    """The parts of a where clause, and the values of their places."""
    parts: list[tuple[str, tuple[str | int, ...] | None]] = [
        ("tenant = ?", None if wanted.tenant is None else (wanted.tenant,)),
        ("status = ?", None if wanted.status is None else (wanted.status,)),
        ("spec = ?", None if wanted.spec is None else (wanted.spec,)),
        ("labels ->> ('$.' || json_quote(?)) = ?", wanted.label),
        ("number < ?", None if wanted.before is None else (wanted.before,)),
    ]
    stated = [(condition, values) for condition, values in parts if values is not None]
    return [condition for condition, _ in stated], [
        value for _, values in stated for value in values
    ]


def recorded_in(folder: Path, job_id: str) -> RecordedJob:
    """Read a recorded job out of a state folder, whether or not a host uses it; raise OperatorError."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise OperatorError(f"there is no {path}; give the state folder of a host")
    try:
        with closing(connect(path, read_only=True)) as connection:
            # One transaction, so that job and journal are of the same moment.
            connection.execute("begin")
            job = job_in(connection, job_id)
            entries = journal_in(connection, job_id)
    except sqlite3.Error as error:
        raise OperatorError(f"the job store {path} cannot be read: {error}") from None
    if job is None:
        raise OperatorError(f"there is no job {printable(job_id)!r} in {path}, or it was forgotten")
    return recorded_job(job, entries)
