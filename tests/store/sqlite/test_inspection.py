"""A store looked at from outside."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.inspection import inspect_store


def test_a_store_is_counted_also_while_its_host_uses_it(tmp_path: Path) -> None:
    assert inspect_store(tmp_path) is None
    store = open_sqlite_stores(tmp_path)
    try:
        facts = inspect_store(tmp_path)
    finally:
        store.close()
    assert facts is not None
    assert (facts.jobs, facts.schema) == (0, facts.schema_known)


def test_a_store_of_a_newer_version_can_still_be_told(tmp_path: Path) -> None:
    open_sqlite_stores(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "jobs.sqlite")) as connection:
        connection.execute("pragma user_version = 1000")
    facts = inspect_store(tmp_path)
    assert facts is not None
    assert facts.schema == 1000 > facts.schema_known


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(OperatorError, match=r"jobs\.sqlite cannot be used"):
        inspect_store(tmp_path)
