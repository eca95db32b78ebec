"""What is read of one job, by the store that is open and by whoever looks into its file from outside."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Job, JobKey, JobStatusRow
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job.recorded_job import RecordedJob, recorded_job
from cuttlebone.store.jobs import POSITION_MAX
from cuttlebone.store.journal import JOURNAL_BYTES_READ_MAX
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.migrations import SCHEMA_VERSION
from cuttlebone.store.sqlite.rows import (
    STATUS_COLUMNS,
    entry_of,
    event_of,
    job_of,
    part_of,
    status_row_of,
)
from cuttlebone.text import printable

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
STORED_BYTES: Final = """
select coalesce(sum(
    length(input) + coalesce(length(envelope), 0)
    + (select coalesce(sum(length(data)), 0) from job_events where job = jobs.number)
    + (select coalesce(sum(
        coalesce(length(event), 0) + coalesce(length(reply), 0) + length(pieces)
    ), 0) from journal where job = jobs.number)
    + (select coalesce(sum(length(result)), 0) from journal_parts where job = jobs.number)
), 0) from jobs where tenant = ?
"""
_NUMBER: Final = "(select number from jobs where tenant = ? and id = ?)"
_PLACE: Final = "select rank, number from jobs where tenant = ? and id = ? and status = 'queued'"
_BEFORE: Final = """
select count(*) from (
    select 1 from jobs where status = 'queued' and tenant = ? and (rank, number) < (?, ?) limit ?
)
"""


def job_in(connection: sqlite3.Connection, key: JobKey) -> Job | None:
    """The job as it stands."""
    row = connection.execute("select * from jobs where tenant = ? and id = ?", key).fetchone()
    return None if row is None else job_of(row)


def status_in(connection: sqlite3.Connection, key: JobKey) -> JobStatusRow | None:
    """Where the job stands."""
    row = connection.execute(
        f"select {STATUS_COLUMNS} from jobs where tenant = ? and id = ?",  # noqa: S608  # our own
        key,
    ).fetchone()
    return None if row is None else status_row_of(row)


def expired_in(connection: sqlite3.Connection, moment_us: int) -> list[JobStatusRow]:
    """The queued jobs that were not to wait beyond a moment."""
    rows = connection.execute(
        f"select {STATUS_COLUMNS} from jobs "  # noqa: S608  # names of our own
        "where status = 'queued' and expires_us is not null and expires_us <= ?",
        (moment_us,),
    )
    return [status_row_of(row) for row in rows]


def position_in(connection: sqlite3.Connection, key: JobKey) -> int | None:
    """How many queued jobs of its tenant go before this queued one; None if it is not queued."""
    place = connection.execute(_PLACE, key).fetchone()
    if place is None:
        return None
    (before,) = connection.execute(_BEFORE, (key.tenant, *place, POSITION_MAX)).fetchone()
    return int(before)


def events_in(
    connection: sqlite3.Connection, key: JobKey, *, after: int, limit: int
) -> list[JobEvent]:
    """The events with numbers above `after`, in order: at most `limit`, and fewer large ones."""
    rows = connection.execute(
        f"select * from job_events where job = {_NUMBER} "  # noqa: S608  # a query of our own
        "and number > ? order by number limit ?",
        (*key, after, limit),
    )
    events, size = [], 0
    for row in rows:
        events.append(event_of(row))
        size += len(row["data"])
        if size >= EVENT_BYTES_READ_MAX:
            break
    return events


def count_events_in(connection: sqlite3.Connection, key: JobKey, kind: EventKind) -> int:
    """How many events of one kind the log of a job has."""
    (found,) = connection.execute(
        f"select count(*) from job_events where job = {_NUMBER} and kind = ?",  # noqa: S608  # our own
        (*key, kind),
    ).fetchone()
    return int(found)


def journal_in(connection: sqlite3.Connection, key: JobKey) -> list[JournalEntry]:
    """All entries of a journal, in order."""
    rows = connection.execute(
        f"select * from journal where job = {_NUMBER} order by step",  # noqa: S608  # our own
        key,
    )
    return [entry_of(row) for row in rows]


def journal_page_in(
    connection: sqlite3.Connection, key: JobKey, *, after: int
) -> list[JournalEntry]:
    """The entries of a journal with steps above `after`, in order, a bounded part of them."""
    rows = connection.execute(
        f"select * from journal where job = {_NUMBER} and step > ? order by step",  # noqa: S608  # our own
        (*key, after),
    )
    page, size = [], 0
    with closing(rows):
        for row in rows:
            entry = entry_of(row)
            page.append(entry)
            size += entry.size_bytes()
            if size >= JOURNAL_BYTES_READ_MAX:
                break
    return page


def last_step_in(connection: sqlite3.Connection, key: JobKey) -> int:
    """The step of the last entry of a journal; 0 where there is none."""
    (last,) = connection.execute(
        f"select coalesce(max(step), 0) from journal where job = {_NUMBER}",  # noqa: S608  # our own
        key,
    ).fetchone()
    return int(last)


def journal_parts_in(connection: sqlite3.Connection, key: JobKey) -> list[JournalPart]:
    """The parts of entries that are not there yet, by step and number."""
    rows = connection.execute(
        f"select * from journal_parts where job = {_NUMBER} "  # noqa: S608  # our own
        "order by step, number",
        key,
    )
    return [part_of(row) for row in rows]


def recorded_in(folder: Path, job_id: str) -> RecordedJob:
    """Read a recorded job out of a state folder, whether or not a host uses it; raise OperatorError."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise OperatorError(f"there is no {path}; give the state folder of a host")
    try:
        with closing(connect(path, read_only=True)) as connection:
            _check_version(connection, path)
            # One transaction, so that job and journal are of the same moment.
            connection.execute("begin")
            return _recorded(connection, job_id, path)
    except sqlite3.Error as error:
        raise OperatorError(f"the job store {path} cannot be read: {error}") from None


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    remedy = (
        "start this host on the folder once, which brings it to that version"
        if version < SCHEMA_VERSION
        else "use the newer version of this program that wrote it"
    )
    raise OperatorError(
        f"the job store {path} has schema version {version}, and version {SCHEMA_VERSION} is read "
        f"here; {remedy}"
    )


def _recorded(connection: sqlite3.Connection, job_id: str, path: Path) -> RecordedJob:
    rows = connection.execute("select tenant from jobs where id = ? order by tenant", (job_id,))
    tenants = [tenant for (tenant,) in rows]
    if len(tenants) > 1:
        raise OperatorError(
            f"{len(tenants)} tenants have a job {printable(job_id)!r} in {path}: "
            f"{', '.join(map(printable, tenants))}; export it with the token of the one that is meant "
            "(`cuttlebone job export`)"
        )
    key = JobKey(tenants[0], job_id) if tenants else None
    job = None if key is None else job_in(connection, key)
    if key is None or job is None:
        raise OperatorError(f"there is no job {printable(job_id)!r} in {path}, or it was forgotten")
    return recorded_job(job, journal_in(connection, key))
