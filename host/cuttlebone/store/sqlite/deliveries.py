"""The delivery log in the tables of the durable store."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final

from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState, state_after
from cuttlebone.job.job import now
from cuttlebone.store.sqlite.rows import microseconds, moment
from cuttlebone.store.sqlite.writer import Writer

_SELECT: Final = """
select deliveries.*, jobs.id as job_id, jobs.callback_url from deliveries
join jobs on jobs.number = deliveries.job
"""
_DUE: Final = f"{_SELECT} where state = 'pending' and next_us <= ? order by next_us limit ?"
_OF: Final = f"{_SELECT} where jobs.id = ?"
_NOTE: Final = """
update deliveries set state = ?, next_us = ? where id = ? and state = 'pending' returning job
"""


class SqliteDeliveries:
    """Reads through the readers of the store and changes through its writer. Any thread may call it."""

    def __init__(
        self, writer: Writer, reader: Callable[[], AbstractContextManager[sqlite3.Connection]]
    ) -> None:
        self._writer = writer
        self._reader = reader

    def of(self, job_id: str) -> Sequence[Delivery]:
        """The deliveries of a job: one, or none."""
        return self._found(_OF, (job_id,))

    def due(self, moment: datetime, *, limit: int) -> Sequence[Delivery]:
        """Pending deliveries to be tried by `moment`, the longest due first."""
        return self._found(_DUE, (microseconds(moment), limit))

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; raise StoreUnavailable if it cannot be written."""
        self._writer.do(lambda connection: _note(connection, delivery.id, attempt, next_attempt_at))

    def pending(self) -> int:
        """How many are pending."""
        with self._reader() as reader:
            (found,) = reader.execute(
                "select count(*) from deliveries where state = 'pending'"
            ).fetchone()
        return int(found)

    def _found(self, query: str, values: tuple[object, ...]) -> list[Delivery]:
        with self._reader() as reader:
            return [_delivery(reader, row) for row in reader.execute(query, values).fetchall()]


def add_delivery(connection: sqlite3.Connection, job: int, delivery_id: str) -> None:
    """Keep a new delivery, due at once."""
    moment_us = microseconds(now())
    connection.execute(
        "insert into deliveries (job, id, state, created_us, next_us) values (?, ?, ?, ?, ?)",
        (job, delivery_id, DeliveryState.PENDING, moment_us, moment_us),
    )


def _note(
    connection: sqlite3.Connection, delivery_id: str, attempt: Attempt, again_at: datetime | None
) -> None:
    state = state_after(attempt, again_at)
    noted = connection.execute(_NOTE, (state, microseconds(again_at), delivery_id)).fetchone()
    if noted is not None:
        connection.execute(
            "insert into delivery_attempts (job, number, at_us, status, reason, took_ms) "
            "values (?, ?, ?, ?, ?, ?)",
            (
                noted["job"],
                attempt.number,
                microseconds(attempt.at),
                attempt.status,
                attempt.reason,
                attempt.took_ms,
            ),
        )


def _delivery(reader: sqlite3.Connection, row: sqlite3.Row) -> Delivery:
    rows = reader.execute(
        "select * from delivery_attempts where job = ? order by number", (row["job"],)
    )
    return Delivery(
        id=row["id"],
        job_id=row["job_id"],
        url=row["callback_url"],
        state=DeliveryState(row["state"]),
        created_at=_moment(row["created_us"]),
        next_attempt_at=moment(row["next_us"]),
        attempts=tuple(
            Attempt(
                one["number"], _moment(one["at_us"]), one["status"], one["reason"], one["took_ms"]
            )
            for one in rows
        ),
    )


def _moment(microseconds: int) -> datetime:
    found = moment(microseconds)
    if found is None:
        raise AssertionError("the column is not null")
    return found
