"""The outbox in the tables of the durable store."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState, Topic, state_after
from cuttlebone.job.job import JobKey
from cuttlebone.store.moments import microseconds, moment_of
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.writer import Transaction

_SELECT: Final = """
select outbox.*, jobs.tenant, jobs.id as job_id from outbox join jobs on jobs.number = outbox.job
"""
# The receivers that wait, found by one step in an index for each, and of each those that are due: it must
# not look at all that one receiver has.
_DUE: Final = f"""
with recursive receivers (receiver) as (
    select min(receiver) from outbox where topic = :topic and state = 'pending'
    union all
    select (
        select min(receiver) from outbox
        where topic = :topic and state = 'pending' and receiver > receivers.receiver
    ) from receivers where receiver is not null
)
{_SELECT} where outbox.number in (
    select one.number from receivers join outbox as one on one.number in (
        select number from outbox
        where topic = :topic and state = 'pending' and receiver = receivers.receiver
        and next_us <= :moment_us order by next_us, number limit :each_max
    )
) order by next_us, outbox.number
"""  # noqa: S608  # a statement of our own
_OF: Final = f"{_SELECT} where jobs.tenant = ? and jobs.id = ? order by topic"
_NOTE: Final = """
update outbox set state = ?, next_us = ? where id = ? and state = 'pending' returning number
"""
_ATTEMPTED: Final = """
insert into outbox_attempts (delivery, number, at_us, status, reason, took_ms)
values (?, ?, ?, ?, ?, ?)
"""


class SqliteOutbox:
    """See `Outbox`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, key: JobKey) -> Sequence[Delivery]:
        """The deliveries of a job, in the order of their topics."""
        return self._found(_OF, key)

    def due(self, topic: Topic, moment: datetime, *, each_max: int) -> Sequence[Delivery]:
        """Pending deliveries of a topic to be tried by `moment`, at most `each_max` of one receiver."""
        bounds = {"topic": topic, "moment_us": microseconds(moment), "each_max": each_max}
        return self._found(_DUE, bounds)

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; raise StoreUnavailable if it cannot be written."""
        self._database.do(
            lambda transaction: _note(transaction, delivery.id, attempt, next_attempt_at)
        )

    def pending(self, topic: Topic) -> int:
        """How many of a topic are pending."""
        with self._database.reader() as reader:
            (found,) = reader.execute(
                "select count(*) from outbox where topic = ? and state = 'pending'", (topic,)
            ).fetchone()
        return int(found)

    def _found(self, query: str, values: tuple[object, ...] | dict[str, object]) -> list[Delivery]:
        with self._database.reader() as reader:
            return [_delivery(reader, row) for row in reader.execute(query, values).fetchall()]


def add_delivery(
    transaction: Transaction, job: int, topic: Topic, delivery_id: str, receiver: str
) -> None:
    """Keep a new delivery, due at once."""
    moment_us = microseconds(transaction.clock())
    transaction.connection.execute(
        "insert into outbox (job, topic, id, state, created_us, next_us, receiver) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        (job, topic, delivery_id, DeliveryState.PENDING, moment_us, moment_us, receiver),
    )


def _note(
    transaction: Transaction, delivery_id: str, attempt: Attempt, again_at: datetime | None
) -> None:
    state, again_us = state_after(attempt, again_at), microseconds(again_at)
    noted = transaction.connection.execute(_NOTE, (state, again_us, delivery_id)).fetchone()
    if noted is not None:
        made = (microseconds(attempt.at), attempt.status, attempt.reason, attempt.took_ms)
        transaction.connection.execute(_ATTEMPTED, (noted["number"], attempt.number, *made))


def _delivery(reader: sqlite3.Connection, row: sqlite3.Row) -> Delivery:
    attempts = reader.execute(
        "select * from outbox_attempts where delivery = ? order by number", (row["number"],)
    )
    return Delivery(
        id=row["id"],
        key=JobKey(row["tenant"], row["job_id"]),
        topic=Topic(row["topic"]),
        state=DeliveryState(row["state"]),
        created_at=moment_of(row["created_us"]),
        next_attempt_at=moment_of(row["next_us"]),
        receiver=row["receiver"],
        attempts=tuple(
            Attempt(
                one["number"],
                moment_of(one["at_us"]),
                one["status"],
                one["reason"],
                one["took_ms"],
            )
            for one in attempts
        ),
    )
