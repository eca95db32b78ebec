"""Reads all rows of a damaged table that can be read: from both ends, and one by one in between."""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

PROBED_MAX: Final = 1_000_000
"""Numbers of a table that are tried one by one, between what can be read from its two ends."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the damaged database `old`, and by what its rows are told apart."""

    name: str
    key: str
    numbered: bool = False
    """Whether the key is one whole number."""


def read_rows(connection: sqlite3.Connection, table: Table) -> bool:
    """Copy what can be read of a table into a temporary one of the same name; tell whether that is all.

    No index of the table is used: it may be damaged where the table is not.
    """
    name, key = table.name, table.key
    connection.execute(f"create temp table {name} as select * from main.{name} where false")  # noqa: S608  # our own
    connection.execute(f"create unique index temp.{name}_key on {name} ({key})")
    reading = f"select * from old.{name} not indexed order by {key}"  # noqa: S608  # likewise
    last, whole = _keep(connection, table, reading)
    if whole:
        return True
    backwards = f"{reading.replace(',', ' desc,')} desc"
    first, _ = _keep(connection, table, backwards)
    if table.numbered and last is not None and first is not None:
        _probe(connection, table, range(last[0] + 1, min(first[0], last[0] + PROBED_MAX)))
    return False


def _keep(
    connection: sqlite3.Connection, table: Table, reading: str
) -> tuple[sqlite3.Row | None, bool]:
    """Keep rows up to the first that cannot be read; return the last, and whether it is the last of all."""
    last: sqlite3.Row | None = None
    try:
        for row in connection.execute(reading):
            _insert(connection, table, row)
            last = row
    except sqlite3.DatabaseError:
        return last, False
    return last, True


def _probe(connection: sqlite3.Connection, table: Table, numbers: range) -> None:
    for number in numbers:
        with suppress(sqlite3.DatabaseError):
            query = f"select * from old.{table.name} not indexed where {table.key} = ?"  # noqa: S608  # likewise
            for row in connection.execute(query, (number,)):
                _insert(connection, table, row)


def _insert(connection: sqlite3.Connection, table: Table, row: sqlite3.Row) -> None:
    places = ", ".join("?" * len(row))
    statement = f"insert or ignore into temp.{table.name} values ({places})"  # noqa: S608  # likewise
    connection.execute(statement, tuple(row))


def names_in_index(connection: sqlite3.Connection) -> dict[int, tuple[str, str]]:
    """Tenant and id of jobs by their numbers, as an index has them where their rows are damaged."""
    names: dict[int, tuple[str, str]] = {}
    for order in ("tenant, id", "tenant desc, id desc"):
        reading = f"select number, tenant, id from old.jobs order by {order}"  # noqa: S608  # likewise
        with suppress(sqlite3.DatabaseError):
            for number, tenant, job_id in connection.execute(reading):
                names[int(number)] = (str(tenant), str(job_id))
    return names
