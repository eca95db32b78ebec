"""The file of the durable stores, as a whole: whether it can be written, though nobody writes."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.writer import Transaction

BOUND_S = scaled(20.0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path, tried_every_s=0)
    yield opened
    opened.close()


def limit_pages(transaction: Transaction, pages: int) -> None:
    transaction.connection.execute(f"pragma max_page_count = {pages}")


def until(database: Database, trouble: str | None) -> None:
    """Ask until that is the answer: each asking has it tried, and the next one is told."""
    deadline = time.monotonic() + BOUND_S
    while database.trouble() != trouble:
        assert time.monotonic() < deadline, database.trouble()


def test_a_file_that_can_be_written_is_no_trouble(database: Database) -> None:
    assert database.trouble() is None
    assert database.trouble() is None


def test_a_full_disk_is_noticed_by_who_writes_and_found_mended_by_who_asks(
    database: Database,
) -> None:
    database.do(lambda transaction: limit_pages(transaction, 1))
    with pytest.raises(Exception, match="full"):
        database.do(
            lambda transaction: (
                transaction.connection.execute(
                    "insert into meta values ('much', zeroblob(1000000))"
                ).rowcount
            )
        )
    until(database, "database or disk is full")
    for _ in range(1_000):  # a page would find room, so more than that is tried
        assert database.trouble() == "database or disk is full"

    database.insist(lambda transaction: limit_pages(transaction, 1_000_000))  # also beside a try
    until(database, None)


def test_what_is_tried_leaves_nothing(database: Database) -> None:
    def keys() -> list[str]:
        with database.reader() as reader:
            return [key for (key,) in reader.execute("select key from meta order by key")]

    before = keys()
    database.do(lambda transaction: limit_pages(transaction, 1))
    with pytest.raises(Exception, match="full"):
        database.do(
            lambda transaction: (
                transaction.connection.execute(
                    "insert into meta values ('much', zeroblob(1000000))"
                ).rowcount
            )
        )
    database.insist(lambda transaction: limit_pages(transaction, 1_000_000))  # also beside a try
    until(database, None)

    assert keys() == before
