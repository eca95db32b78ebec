"""The event logs in the durable store: their ends in memory, the rest in the file."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from cuttlebone.job.events import EventFilter, EventKind, JobEvent, LoggedEvent
from cuttlebone.job.job import Fence, JobKey
from cuttlebone.store.events import EventPage, bad_cursor
from cuttlebone.store.sqlite import changes
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.reading import EVENT_BYTES_READ_MAX, count_events_in, events_in
from cuttlebone.store.sqlite.rows import event_of
from cuttlebone_abi import Json, dump_json

ROW_MAX: Final = (1 << 63) - 1
SCANNED_MAX: Final = 10_000
"""Events that one read of the log over all jobs looks at, wanted or not."""
_GAP: Final = "gap"
_ALL: Final = """
select job_events.*, jobs.tenant, jobs.id from job_events left join jobs on jobs.number = job
where row > ? order by row limit ?
"""
_ENDS: Final = """
select (select value from meta where key = 'gaps_lost_row'), coalesce(max(row), 0) from job_events
"""


class SqliteEvents:
    """See `EventStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, fence: Fence, kind: EventKind, data: Json) -> None:
        """Add to the event log of a running attempt; one that is over adds nothing."""
        json = dump_json(data)  # here, not in the thread that everybody waits for
        self._database.post(lambda transaction: changes.append(transaction, fence, kind, json))

    def read(self, key: JobKey, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        tail = self._database.tails.read(key, after=after, limit=limit)
        if tail is not None:
            return tail
        with self._database.reader() as reader:
            return events_in(reader, key, after=after, limit=limit)

    def count(self, key: JobKey, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""
        with self._database.reader() as reader:
            return count_events_in(reader, key, kind)

    def subscribe(
        self, key: JobKey | None, callback: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Call `callback` whenever something has happened to the job, to any job if it is None."""
        return self._database.tails.follow(key, callback)

    def read_all(self, after: str | None, wanted: EventFilter, *, limit: int) -> EventPage:
        """The next events of all jobs behind a cursor, or the first ones, at most `limit`."""
        row = _row(after)
        with self._database.reader() as reader:
            reader.execute("begin")
            try:
                lost, last = reader.execute(_ENDS).fetchone()
                start = (
                    row if row <= last else 0
                )  # the file is an older one, put back from a backup
                page, end = _page(reader, start, wanted, limit)
            finally:
                reader.execute("commit")
        return EventPage(page, str(end), gaps_lost=start < lost or start != row)


def _page(
    reader: sqlite3.Connection, row: int, wanted: EventFilter, limit: int
) -> tuple[list[LoggedEvent], int]:
    """Events behind a row, and the row up to which was looked: wanted or not, large or not."""
    page: list[LoggedEvent] = []
    size = 0
    for found in reader.execute(_ALL, (row, SCANNED_MAX)):
        row, logged = found["row"], _logged(found)
        if wanted.matches(logged):
            page.append(logged)
            size += len(found["data"])
        if len(page) == limit or size >= EVENT_BYTES_READ_MAX:
            break
    return page, row


def _logged(row: sqlite3.Row) -> LoggedEvent:
    if row["kind"] == _GAP:
        return LoggedEvent(str(row["row"]), JobKey(*row["data"].decode().split("\n", 1)), None)
    return LoggedEvent(str(row["row"]), JobKey(row["tenant"], row["id"]), event_of(row))


def _row(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= len(str(ROW_MAX))):
        raise bad_cursor()
    return min(int(cursor), ROW_MAX)
