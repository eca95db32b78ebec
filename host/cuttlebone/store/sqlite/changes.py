"""The statements that change jobs. Each runs inside a transaction of the writer."""

import uuid
from datetime import datetime
from sqlite3 import Row
from typing import Final

from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Fence, Job, JobKey
from cuttlebone.store.leases import lease_end, may_take
from cuttlebone.store.moments import microseconds, moment_of
from cuttlebone.store.outbox import receiver_of, topics_of
from cuttlebone.store.sqlite.outbox import add_delivery
from cuttlebone.store.sqlite.rows import job_of
from cuttlebone.store.sqlite.writer import Transaction
from cuttlebone_abi import JobStatus, dump_json

QUEUED: Final = dump_json({"status": JobStatus.QUEUED})
"""What an event log says of a job that waits."""

_CLAIMED: Final = """
update jobs set status = 'running', attempt = attempt + 1, events = events + 1,
    started_us = coalesce(started_us, max(:now_us, created_us)), owner = :owner, lease_us = :lease_us
"""
_CLAIM: Final = f"""
{_CLAIMED} where number = (
    select number from jobs where status = 'queued' order by rank, number limit 1
) returning *
"""  # noqa: S608  # a statement of our own
# The first job of each tenant that has any, found by one step in an index for each tenant: it must
# not look at all the jobs of a tenant that is passed over.
_CLAIM_FAIRLY: Final = f"""
with recursive tenants (tenant) as (
    select min(tenant) from jobs where status = 'queued'
    union all
    select (select min(tenant) from jobs where status = 'queued' and tenant > tenants.tenant)
    from tenants where tenant is not null
)
{_CLAIMED} where number = (
    select number from jobs where number in (
        select (
            select number from jobs where status = 'queued' and jobs.tenant = tenants.tenant
            order by rank, number limit 1
        ) from tenants where tenant is not null and tenant not in (
            select tenant from jobs where status = 'running'
            group by tenant having count(*) >= :tenant_running_max
        )
    ) order by rank, number limit 1
) returning *
"""  # noqa: S608  # a statement of our own
_IS_ATTEMPT: Final = "tenant = ? and id = ? and attempt = ? and coalesce(owner, '') = ?"
_RUNS: Final = f"{_IS_ATTEMPT} and status = 'running'"
_NUMBER_EVENT: Final = f"""
update jobs set events = events + 1 where {_RUNS} returning number, events
"""  # noqa: S608  # a statement of our own
_FINISH: Final = f"""
update jobs set status = ?, envelope = ?, accounting = ?,
    finished_us = max(?, created_us, coalesce(started_us, 0)), events = events + 2,
    owner = null, lease_us = null
where {_IS_ATTEMPT} and envelope is null
returning number, events, callback_url
"""  # noqa: S608  # a statement of our own
_RELEASE: Final = f"""
update jobs set status = 'queued', owner = null, lease_us = null, events = events + 1
where {_RUNS} returning number, events
"""  # noqa: S608  # a statement of our own
_RECOVER: Final = """
update jobs set status = 'queued', owner = null, lease_us = null, events = events + 1,
    crashes = crashes + 1
where number = ? returning *
"""
_FORGET: Final = "delete from jobs where tenant = ? and id = ? and envelope is not null"
_FORGET_FINISHED: Final = """
delete from jobs where number in (
    select number from jobs where finished_us is not null and ttl_s is null and finished_us < :over
    union all
    select number from jobs where finished_us is not null and ttl_s is not null
    and finished_us + ttl_s * 1000000 < :now
    limit :limit
) returning tenant, id
"""
_FORGET_GAPS: Final = """
delete from job_events where job is null and row <= (
    select row from job_events where job is null order by row desc limit 1 offset ?
) returning row
"""


def claim(transaction: Transaction, owner: str, tenant_running_max: int | None) -> Job | None:
    """Move the queued job that is first in line to running, with a lease."""
    moment = transaction.clock()
    values = {
        "owner": owner,
        "now_us": microseconds(moment),
        "lease_us": microseconds(lease_end(moment)),
        "tenant_running_max": tenant_running_max,
    }
    statement = _CLAIM if tenant_running_max is None else _CLAIM_FAIRLY
    row = transaction.connection.execute(statement, values).fetchone()
    if row is None:
        return None
    job = job_of(row)
    told = dump_json({"status": job.status, "attempt": job.attempt})
    insert_event(transaction, job.key, row["number"], row["events"], EventKind.STATUS, told)
    return job


def renew(transaction: Transaction, owner: str) -> None:
    """Let the leases of an owner begin anew."""
    transaction.connection.execute(
        "update jobs set lease_us = ? where status = 'running' and owner = ?",
        (microseconds(lease_end(transaction.clock())), owner),
    )


def recover(transaction: Transaction, owner: str) -> list[Job]:
    """Queue again, at its old place, what an owner may take."""
    moment = transaction.clock()
    running = transaction.connection.execute(
        "select number, owner, lease_us from jobs where status = 'running' order by number"
    ).fetchall()
    taken = [
        number
        for number, other, lease_us in running
        if may_take(owner, owner=other, until=moment_of(lease_us), moment=moment)
    ]
    return [_crashed(transaction, number) for number in taken]


def _crashed(transaction: Transaction, number: int) -> Job:
    row = transaction.connection.execute(_RECOVER, (number,)).fetchone()
    job = job_of(row)
    _tell_queued(transaction, job.key, row)
    return job


def release(transaction: Transaction, fence: Fence) -> None:
    """Put a running attempt back to the queue, at its old place."""
    row = transaction.connection.execute(_RELEASE, _fenced(fence)).fetchone()
    if row is not None:
        _tell_queued(transaction, fence.key, row)


def append(transaction: Transaction, fence: Fence, kind: EventKind, json: bytes) -> None:
    """Add to the event log of a running attempt; one that is over adds nothing."""
    numbered = transaction.connection.execute(_NUMBER_EVENT, _fenced(fence)).fetchone()
    if numbered is None:
        return
    job, number = numbered
    insert_event(transaction, fence.key, job, number, kind, json)
    if kind is EventKind.PROGRESS:
        transaction.connection.execute("update jobs set progress = ? where number = ?", (json, job))


def finish(
    transaction: Transaction, fence: Fence, status: str, envelope: bytes, accounting: bytes | None
) -> bool:
    """Make a job final with all that follows, if that is still its attempt."""
    ended = (status, envelope, accounting, microseconds(transaction.clock()), *_fenced(fence))
    numbered = transaction.connection.execute(_FINISH, ended).fetchone()
    if numbered is None:
        return False
    job, last, callback_url = numbered
    transaction.connection.execute("delete from journal_parts where job = ?", (job,))
    told = dump_json({"status": status})
    insert_event(transaction, fence.key, job, last - 1, EventKind.STATUS, told)
    insert_event(transaction, fence.key, job, last, EventKind.RESULT, envelope)
    for topic in topics_of(callback_url):
        receiver = receiver_of(callback_url)
        add_delivery(transaction, job, topic, uuid.uuid4().hex, receiver)
    return True


def request_cancel(transaction: Transaction, key: JobKey) -> None:
    """Mark a job that is not final."""
    transaction.connection.execute(
        "update jobs set cancel_requested = 1 where tenant = ? and id = ? and envelope is null", key
    )
    transaction.tell(key)


def forget(transaction: Transaction, key: JobKey) -> bool:
    """Wipe a final job; its events, journal, deliveries and idempotency keys go with it."""
    transaction.tell(key)
    return transaction.connection.execute(_FORGET, key).rowcount > 0


def forget_finished(transaction: Transaction, moment: datetime, ttl_s: int, limit: int) -> int:
    """Wipe at most `limit` final jobs whose time to live is over."""
    now_us = microseconds(moment)
    bounds = {"now": now_us, "over": now_us - ttl_s * 1_000_000, "limit": limit}
    wiped = transaction.connection.execute(_FORGET_FINISHED, bounds).fetchall()
    for tenant, job_id in wiped:
        transaction.tell(JobKey(tenant, job_id))
    return len(wiped)


def forget_gaps(transaction: Transaction, kept_max: int) -> None:
    """Name no more forgotten jobs than the last ones; remember up to where."""
    lost = transaction.connection.execute(_FORGET_GAPS, (kept_max,)).fetchall()
    if lost:
        last = max(row for (row,) in lost)
        transaction.connection.execute(
            "update meta set value = ? where key = 'gaps_lost_row'", (last,)
        )


def insert_event(
    transaction: Transaction, key: JobKey, job: int, number: int, kind: EventKind, json: bytes
) -> None:
    """Add an event to the log of a job, and tell of it."""
    at = transaction.clock()
    transaction.connection.execute(
        "insert into job_events (job, number, kind, at_us, data) values (?, ?, ?, ?, ?)",
        (job, number, kind, microseconds(at), json),
    )
    transaction.tell(key, JobEvent(number, kind, json, at))


def _tell_queued(transaction: Transaction, key: JobKey, row: Row) -> None:
    insert_event(transaction, key, row["number"], row["events"], EventKind.STATUS, QUEUED)


def _fenced(fence: Fence) -> tuple[str, str, int, str]:
    return (*fence.key, fence.attempt, fence.owner)
