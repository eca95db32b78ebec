"""Statements over the jobs that a filter means: listed, counted, marked to be ended, wiped."""

import sqlite3
from collections.abc import Iterator
from typing import Final, TypeAlias

from cuttlebone.job.job import Job, JobKey, JobStatusRow
from cuttlebone.job.job_filter import LIVE, JobFilter
from cuttlebone.store.moments import microseconds
from cuttlebone.store.sqlite.rows import STATUS_COLUMNS, job_of, status_row_of
from cuttlebone.store.sqlite.writer import Transaction
from cuttlebone_abi import JobStatus

_Value: TypeAlias = str | int
_Condition: TypeAlias = tuple[str, tuple[_Value, ...]]

# Only a short envelope is read: that of a job which completed has no error, and may be large.
_ERROR_CODE: Final = "iif(status in ('failed', 'cancelled'), envelope ->> '$.error.code', null) = ?"


def jobs_in(connection: sqlite3.Connection, wanted: JobFilter) -> list[Job]:
    """Jobs, newest first, at most `wanted.limit`."""
    where, values = _where([_stands(wanted.statuses), *_others(wanted)])
    query = f"select * from jobs {where} order by number desc limit ?"  # noqa: S608  # conditions of our own
    return [job_of(row) for row in connection.execute(query, (*values, wanted.limit))]


def count_in(connection: sqlite3.Connection, wanted: JobFilter) -> int:
    """How many jobs are meant."""
    found = 0
    # Each status by itself: those that wait, and those that run, have an index of their own.
    for status in wanted.statuses or JobStatus:
        where, values = _where([(f"status = '{status}'", ()), *_others(wanted)])
        (some,) = connection.execute(f"select count(*) from jobs {where}", values).fetchone()  # noqa: S608  # our own
        found += some
    return found


def request_cancel_of(transaction: Transaction, wanted: JobFilter) -> list[JobStatusRow]:
    """Mark jobs that are not final, of which nobody has asked that yet; return them as they stand."""
    rows: list[JobStatusRow] = []
    for status in sorted(LIVE & (wanted.statuses or LIVE)):
        fresh: list[_Condition] = [(f"status = '{status}'", ()), ("cancel_requested = 0", ())]
        where, values = _where([*fresh, *_others(wanted)])
        marked = transaction.connection.execute(
            "update jobs set cancel_requested = 1 where number in "  # noqa: S608  # our own
            f"(select number from jobs {where} order by number desc limit ?) returning {STATUS_COLUMNS}",
            (*values, wanted.limit - len(rows)),
        )
        rows.extend(status_row_of(row) for row in marked.fetchall())
    for row in rows:
        transaction.tell(row.key)
    return rows


def forget(transaction: Transaction, wanted: JobFilter) -> int:
    """Wipe final jobs with all that belongs to them, at most `wanted.limit`; return how many."""
    where, values = _where(
        [("envelope is not null", ()), _stands(wanted.statuses), *_others(wanted)]
    )
    wiped = transaction.connection.execute(
        "delete from jobs where number in "  # noqa: S608  # conditions of our own
        f"(select number from jobs {where} order by number desc limit ?) returning tenant, id",
        (*values, wanted.limit),
    ).fetchall()
    for tenant, job_id in wiped:
        transaction.tell(JobKey(tenant, job_id))
    return len(wiped)


def _where(conditions: list[_Condition]) -> tuple[str, tuple[_Value, ...]]:
    """A where clause, and the values of its places."""
    stated = [condition for condition, _ in conditions if condition]
    values = tuple(value for _, some in conditions for value in some)
    return f"where {' and '.join(stated)}" if stated else "", values


def _stands(statuses: frozenset[JobStatus]) -> _Condition:
    return _among("status", statuses) if statuses else ("", ())


def _others(wanted: JobFilter) -> Iterator[_Condition]:
    """All that is stated but for the status."""
    if wanted.tenant is not None:
        yield "tenant = ?", (wanted.tenant,)
    if wanted.specs:
        yield _among("spec", wanted.specs)
    for key, value in wanted.labels.items():
        yield "labels ->> ('$.' || json_quote(?)) = ?", (key, value)
    if wanted.created_after is not None:
        yield "created_us > ?", (microseconds(wanted.created_after),)
    if wanted.created_before is not None:
        yield "created_us < ?", (microseconds(wanted.created_before),)
    if wanted.error_code is not None:
        yield _ERROR_CODE, (wanted.error_code,)
    if wanted.before is not None:
        yield "number < ?", (wanted.before,)


def _among(column: str, values: frozenset[str]) -> _Condition:
    return f"{column} in ({', '.join('?' * len(values))})", tuple(sorted(values))
