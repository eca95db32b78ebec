"""How a job comes into the tables, or how the same request is found there."""

import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job
from cuttlebone.job_options import Priority
from cuttlebone.store.acceptance import (
    idempotency_mismatch,
    job_exists,
    next_rank_us,
    queue_full,
    tenant_queue_full,
)
from cuttlebone.store.sqlite.changes import QUEUED, insert_event
from cuttlebone.store.sqlite.reading import COUNT
from cuttlebone.store.sqlite.rows import COLUMNS, job_of
from cuttlebone.store.sqlite.writer import Transaction
from cuttlebone_abi import JobStatus

_INSERT: Final = (
    f"insert into jobs (rank, {', '.join(COLUMNS)}) "  # noqa: S608  # names of our own
    f"values (:rank, {', '.join(f':{name}' for name in COLUMNS)})"
)
_LAST: Final = "select rank, priority from jobs order by number desc limit 1"
_KEEP_SPEC: Final = "insert into spec_versions (sha256) values (?) on conflict do nothing"
_KEEP_DOCUMENT: Final = "insert into spec_documents (sha256, document) values (?, ?)"
# Counts no further than it has to: a tenant may have 100 000 jobs waiting.
_TENANT_WAITING: Final = """
select count(*) from (select 1 from jobs where status = 'queued' and tenant = ? limit ?)
"""


def insert(
    transaction: Transaction,
    job: Job,
    row: Mapping[str, Any],
    waiting_max: int,
    tenant_waiting_max: int | None,
    idempotency_key: str | None,
    spec_document: bytes | None = None,
) -> Job:
    """Keep a queued job as its `row`, or return the one that the same request made before."""
    connection = transaction.connection
    earlier = _earlier(transaction, job, idempotency_key)
    if earlier is not None:
        return earlier
    (waiting,) = connection.execute(COUNT, (JobStatus.QUEUED,)).fetchone()
    if waiting >= waiting_max:
        raise queue_full(waiting_max)
    if tenant_waiting_max is not None:
        counted = connection.execute(_TENANT_WAITING, (job.tenant, tenant_waiting_max))
        if counted.fetchone()[0] >= tenant_waiting_max:
            raise tenant_queue_full(tenant_waiting_max)
    if spec_document is not None and connection.execute(_KEEP_SPEC, (job.spec_sha256,)).rowcount:
        connection.execute(_KEEP_DOCUMENT, (job.spec_sha256, spec_document))
    rank = next_rank_us(job, _last(connection))
    number = connection.execute(_INSERT, {**row, "rank": rank}).lastrowid
    if number is None:
        raise AssertionError("a row that was inserted has a number")
    if idempotency_key is not None:
        connection.execute(
            "insert into idempotency (tenant, key, job) values (?, ?, ?)",
            (job.tenant, idempotency_key, number),
        )
    insert_event(transaction, job.key, number, 1, EventKind.STATUS, QUEUED)
    return job


def _last(connection: sqlite3.Connection) -> tuple[int, Priority] | None:
    row = connection.execute(_LAST).fetchone()
    return None if row is None else (row["rank"], Priority(row["priority"]))


def _earlier(transaction: Transaction, job: Job, idempotency_key: str | None) -> Job | None:
    """Find the job that an equal request made; raise CallerError if another request did."""
    connection = transaction.connection
    same_id = connection.execute(
        "select * from jobs where tenant = ? and id = ?", job.key
    ).fetchone()
    if same_id is not None:
        if same_id["request_sha256"] == job.request_sha256:
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
