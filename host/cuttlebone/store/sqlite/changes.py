"""The statements that change the tables. Each runs inside a transaction of the writer."""

import sqlite3
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Accounting, Job, now
from cuttlebone.job.journal import GENERATING
from cuttlebone.store.jobs import (
    idempotency_mismatch,
    job_exists,
    queue_full,
    tenant_queue_full,
)
from cuttlebone.store.sqlite.deliveries import add_delivery
from cuttlebone.store.sqlite.reading import COUNT
from cuttlebone.store.sqlite.rows import COLUMNS, accounting_bytes, job_of, microseconds
from cuttlebone_abi import Envelope, JobStatus, Json, dump_json

_ACCEPT: Final = (
    f"insert into jobs ({', '.join(COLUMNS)}) values ({', '.join(f':{name}' for name in COLUMNS)})"  # noqa: S608  # names of our own
)
_KEEP_SPEC: Final = """
insert into spec_versions (sha256, document) values (?, ?) on conflict do nothing
"""
_CLAIM: Final = """
update jobs set status = 'running', attempt = attempt + 1, started_us = coalesce(started_us, ?)
where number = (select number from jobs where status = 'queued' order by rank, number limit 1)
returning *
"""
# Apart from the other, as it has to look at every job of a tenant that it passes over.
_CLAIM_FAIRLY: Final = """
update jobs set status = 'running', attempt = attempt + 1, started_us = coalesce(started_us, ?)
where number = (
    select number from jobs where status = 'queued' and tenant not in (
        select tenant from jobs where status = 'running' group by tenant having count(*) >= ?
    ) order by rank, number limit 1
)
returning *
"""
# Counts no further than it has to: a tenant may have 100 000 jobs waiting.
_TENANT_WAITING: Final = """
select count(*) from (select 1 from jobs where status = 'queued' and tenant = ? limit ?)
"""
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
_NUMBER_EVENT: Final = """
update jobs set events = events + 1 where id = ? and attempt = ? and status = 'running'
returning number, events
"""
_FINISH: Final = """
update jobs set status = ?, envelope = ?, accounting = ?, finished_us = ?, events = events + 2
where id = ? and attempt = ? and envelope is null
returning number, events, callback_url
"""
_RECORD: Final = """
insert into journal
(job, step, command, command_sha256, event_sha256, event, reply, pieces, tokens_in, tokens_out)
select number, :step, :command, :command_sha256, :event_sha256, :event, :reply, :pieces,
:tokens_in, :tokens_out from jobs where id = :id and attempt = :attempt and status = 'running'
"""
_RECORD_PART: Final = """
insert into journal_parts (job, step, number, command_sha256, result)
select number, :step, :number, :command_sha256, :result
from jobs where id = :id and attempt = :attempt and status = 'running'
"""
_FORGET_PARTS: Final = """
delete from journal_parts where job = (select number from jobs where id = ?) and step = ?
"""
_FORGET_FINISHED: Final = """
delete from jobs where finished_us is not null and finished_us + coalesce(ttl_s, ?) * 1000000 < ?
"""


def accept(
    connection: sqlite3.Connection,
    job: Job,
    row: Mapping[str, Any],
    waiting_max: int,
    tenant_waiting_max: int | None,
    idempotency_key: str | None,
    spec_document: bytes | None = None,
) -> Job:
    """Keep a queued job as its `row`, or return the one that the same request made before."""
    earlier = _earlier(connection, job, idempotency_key)
    if earlier is not None:
        return earlier
    (waiting,) = connection.execute(COUNT, (JobStatus.QUEUED,)).fetchone()
    if waiting >= waiting_max:
        raise queue_full(waiting_max)
    if tenant_waiting_max is not None:
        counted = connection.execute(_TENANT_WAITING, (job.tenant, tenant_waiting_max))
        if counted.fetchone()[0] >= tenant_waiting_max:
            raise tenant_queue_full(tenant_waiting_max)
    if spec_document is not None:
        connection.execute(_KEEP_SPEC, (job.spec_sha256, spec_document))
    number = connection.execute(_ACCEPT, row).lastrowid
    if idempotency_key is not None:
        connection.execute(
            "insert into idempotency (tenant, key, job) values (?, ?, ?)",
            (job.tenant, idempotency_key, number),
        )
    _insert_event(connection, number, 1, EventKind.STATUS, {"status": JobStatus.QUEUED})
    return job


def claim(connection: sqlite3.Connection, tenant_running_max: int | None) -> Job | None:
    """Move the queued job that is first in line to running."""
    started_us = microseconds(now())
    if tenant_running_max is None:
        row = connection.execute(_CLAIM, (started_us,)).fetchone()
    else:
        row = connection.execute(_CLAIM_FAIRLY, (started_us, tenant_running_max)).fetchone()
    if row is None:
        return None
    job = job_of(row)
    append(connection, job, EventKind.STATUS, {"status": job.status, "attempt": job.attempt})
    return job


def append(connection: sqlite3.Connection, job: Job, kind: EventKind, data: Json) -> None:
    """Add to the event log of a running attempt; one that is over adds nothing."""
    numbered = connection.execute(_NUMBER_EVENT, (job.id, job.attempt)).fetchone()
    if numbered is None:
        return
    row, number = numbered
    _insert_event(connection, row, number, kind, data)
    if kind is EventKind.PROGRESS:
        connection.execute("update jobs set progress = ? where number = ?", (dump_json(data), row))


def record(connection: sqlite3.Connection, job: Job, entry: Mapping[str, Any]) -> None:
    """Add a row to the journal of a running attempt, in place of its parts; one that is over adds nothing."""
    written = connection.execute(_RECORD, {**entry, "id": job.id, "attempt": job.attempt})
    if written.rowcount and entry["command"] in GENERATING:
        connection.execute(_FORGET_PARTS, (job.id, entry["step"]))


def record_part(connection: sqlite3.Connection, job: Job, part: Mapping[str, Any]) -> None:
    """Add a row to the parts of a running attempt; one that is over adds nothing."""
    connection.execute(_RECORD_PART, {**part, "id": job.id, "attempt": job.attempt})


def finish(
    connection: sqlite3.Connection,
    job_id: str,
    attempt: int,
    envelope: Envelope,
    accounting: Accounting | None,
) -> bool:
    """Make a job final, if it is not yet and this is still its attempt."""
    columns = (
        envelope.status,
        dump_json(envelope),
        accounting_bytes(accounting),
        microseconds(now()),
        job_id,
        attempt,
    )
    numbered = connection.execute(_FINISH, columns).fetchone()
    if numbered is None:
        return False
    number, last, callback_url = numbered
    connection.execute("delete from journal_parts where job = ?", (number,))
    _insert_event(connection, number, last - 1, EventKind.STATUS, {"status": envelope.status})
    _insert_event(connection, number, last, EventKind.RESULT, envelope.model_dump(mode="json"))
    if callback_url is not None:
        add_delivery(connection, number, uuid.uuid4().hex)
    return True


def request_cancel(connection: sqlite3.Connection, job_id: str) -> None:
    """Mark a job that is not final."""
    connection.execute(
        "update jobs set cancel_requested = 1 where id = ? and envelope is null", (job_id,)
    )


def forget(connection: sqlite3.Connection, job_id: str) -> bool:
    """Wipe a final job; its events, journal and idempotency keys go with it."""
    return (
        connection.execute(
            "delete from jobs where id = ? and envelope is not null", (job_id,)
        ).rowcount
        > 0
    )


def forget_finished_before(connection: sqlite3.Connection, moment: datetime, ttl_s: int) -> int:
    """Wipe the final jobs whose time to live is over."""
    return connection.execute(_FORGET_FINISHED, (ttl_s, microseconds(moment))).rowcount


def recover(connection: sqlite3.Connection) -> list[Job]:
    """Queue again what was running, at its old place."""
    rows = connection.execute(
        "update jobs set status = 'queued', crashes = crashes + 1, events = events + 1 "
        "where status = 'running' returning *"
    ).fetchall()
    for row in rows:
        told = {"status": JobStatus.QUEUED}
        _insert_event(connection, row["number"], row["events"], EventKind.STATUS, told)
    return [job_of(row) for row in rows]


def release(connection: sqlite3.Connection, job: Job) -> None:
    """Put a running attempt back to the queue, at its old place."""
    append(connection, job, EventKind.STATUS, {"status": JobStatus.QUEUED})
    connection.execute(
        "update jobs set status = 'queued' where id = ? and attempt = ? and status = 'running'",
        (job.id, job.attempt),
    )


def _earlier(connection: sqlite3.Connection, job: Job, idempotency_key: str | None) -> Job | None:
    """Find the job that an equal request made; raise CallerError if another request did."""
    same_id = connection.execute("select * from jobs where id = ?", (job.id,)).fetchone()
    if same_id is not None:
        if same_id["request_sha256"] == job.request_sha256 and same_id["tenant"] == job.tenant:
            return job_of(same_id)
        raise job_exists(job.id)
    if idempotency_key is None:
        return None
    same_key = connection.execute(
        "select jobs.* from idempotency join jobs on jobs.number = idempotency.job "
        "where idempotency.tenant = ? and key = ?",
        (job.tenant, idempotency_key),
    ).fetchone()
    if same_key is None or same_key["request_sha256"] == job.request_sha256:
        return None if same_key is None else job_of(same_key)
    raise idempotency_mismatch()


def _insert_event(
    connection: sqlite3.Connection, job: int | None, number: int, kind: EventKind, data: Json
) -> None:
    connection.execute(
        "insert into job_events (job, number, kind, at_us, data) values (?, ?, ?, ?, ?)",
        (job, number, kind, microseconds(now()), dump_json(data)),
    )
