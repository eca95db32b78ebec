"""The thread that writes: what it does when there is no room, when a change fails, when it is closed."""

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuttlebone.errors import StoreUnavailable
from cuttlebone.store.sqlite.schema import connect
from cuttlebone.store.sqlite.writer import POSTS_MAX, Writer

BOUND_S = 20.0
ROW = "x" * 3_000


@dataclass(frozen=True, slots=True)
class Table:
    """A database of one table, its writer, and how much room it has."""

    connection: sqlite3.Connection
    writer: Writer

    def fill(self) -> None:
        """Leave no room for another page."""
        (pages,) = self.connection.execute("pragma page_count").fetchone()
        self.connection.execute(f"pragma max_page_count = {pages}")

    def free(self) -> None:
        """Give room."""
        self.connection.execute("pragma max_page_count = 1000000")

    def post(self, number: int, done: threading.Event | None = None) -> None:
        self.writer.post(
            lambda connection: insert(connection, number),
            after=None if done is None else done.set,
        )

    def do(self, number: int) -> None:
        self.writer.do(lambda connection: insert(connection, number))

    def rows(self) -> list[int]:
        return self.writer.do(
            lambda connection: [row[0] for row in connection.execute("select n from t")]
        )


def insert(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("insert into t (n, text) values (?, ?)", (number, ROW))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    connection = connect(tmp_path / "t.sqlite")
    connection.execute("create table t (id integer primary key, n integer, text text)")
    made = Table(connection, Writer(connection))
    yield made
    made.writer.close()


def test_what_finds_no_room_is_refused_if_somebody_waits_and_kept_in_line_if_not(
    table: Table,
) -> None:
    done = threading.Event()
    table.fill()
    table.post(1)
    table.post(2, done)
    with pytest.raises(StoreUnavailable, match="full"):
        table.do(3)
    assert not done.is_set()
    table.free()
    table.do(4)

    assert done.wait(BOUND_S)
    assert table.rows() == [1, 2, 4]


def test_posts_are_tried_again_although_nothing_else_is_asked_for(table: Table) -> None:
    done = threading.Event()
    table.fill()
    table.post(1, done)
    with pytest.raises(StoreUnavailable):
        table.do(2)
    table.free()

    assert done.wait(BOUND_S)


def test_whoever_posts_too_much_waits_for_room(table: Table) -> None:
    table.fill()
    for number in range(POSTS_MAX):
        table.post(number)
    posting = threading.Thread(target=table.post, args=(POSTS_MAX,))
    posting.start()
    with pytest.raises(StoreUnavailable):
        table.do(-1)
    assert posting.is_alive()
    table.free()
    posting.join(BOUND_S)

    assert table.rows() == list(range(POSTS_MAX + 1))


def test_once_a_post_was_given_up_nothing_is_written_any_more(table: Table) -> None:
    table.fill()
    for number in range(POSTS_MAX):
        table.post(number)
    table.writer.hurry()
    table.post(POSTS_MAX)
    table.free()

    with pytest.raises(StoreUnavailable):
        table.do(-1)


def test_a_change_that_fails_harms_no_other(table: Table) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        insert(connection, 2)
        raise LookupError("mine")

    table.post(1)
    with pytest.raises(LookupError, match="mine"):
        table.writer.do(fail)
    table.writer.post(fail)
    table.do(3)

    assert table.rows() == [1, 3]


def test_a_watcher_that_fails_does_not_end_the_thread(table: Table) -> None:
    def fail() -> None:
        raise LookupError

    table.writer.post(lambda connection: insert(connection, 1), after=fail)
    table.do(2)

    assert table.rows() == [1, 2]


def test_a_writer_writes_what_is_outstanding_and_then_refuses(tmp_path: Path) -> None:
    connection = connect(tmp_path / "t.sqlite")
    connection.execute("create table t (id integer primary key, n integer, text text)")
    table = Table(connection, Writer(connection))
    for number in range(500):
        table.post(number)
    table.writer.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        table.do(1)
    assert connect(tmp_path / "t.sqlite").execute("select count(*) from t").fetchone()[0] == 500
