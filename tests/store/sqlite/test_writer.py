"""The thread that writes: what it does when there is no room, when a change fails, when it is closed."""

import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.errors import StoreUnavailable
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.tails import Told
from cuttlebone.store.sqlite.writer import POSTS_MAX, Transaction, Writer
from store.stores import key

BOUND_S = scaled(20.0)
ROW = "x" * 3_000


@dataclass(frozen=True, slots=True)
class Table:
    """A database of one table, its writer, and how much room it has."""

    connection: sqlite3.Connection
    writer: Writer
    told: "queue.SimpleQueue[int]"
    """The rows that were told of, as they became durable."""

    def fill(self) -> None:
        """Leave no room for another page."""
        (pages,) = self.connection.execute("pragma page_count").fetchone()
        self.connection.execute(f"pragma max_page_count = {pages}")

    def free(self) -> None:
        """Give room."""
        self.connection.execute("pragma max_page_count = 1000000")

    def post(self, number: int) -> None:
        self.writer.post(lambda transaction: insert(transaction, number))

    def do(self, number: int) -> None:
        self.writer.do(lambda transaction: insert(transaction, number))

    def rows(self) -> list[int]:
        query = "select n from t"
        return self.writer.do(
            lambda transaction: [row[0] for row in transaction.connection.execute(query)]
        )


def insert(transaction: Transaction, number: int) -> None:
    values = (number, ROW)
    transaction.connection.execute("insert into t (n, text) values (?, ?)", values)
    transaction.tell(key(str(number)))


def table_in(folder: Path) -> Table:
    connection = connect(folder / "t.sqlite")
    connection.execute("create table t (id integer primary key, n integer, text text)")
    told: queue.SimpleQueue[int] = queue.SimpleQueue()

    def committed(tellings: Sequence[Told]) -> None:
        for one, _ in tellings:
            told.put(int(one.id))

    return Table(connection, Writer(connection, committed), told)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    made = table_in(tmp_path)
    yield made
    made.writer.close()


def test_what_finds_no_room_is_refused_if_somebody_waits_and_kept_in_line_if_not(
    table: Table,
) -> None:
    table.fill()
    table.post(1)
    table.post(2)
    with pytest.raises(StoreUnavailable, match="full"):
        table.do(3)
    assert table.told.empty()
    table.free()
    table.do(4)

    assert [table.told.get(timeout=BOUND_S) for _ in range(3)] == [1, 2, 4]
    assert table.rows() == [1, 2, 4]


def test_posts_are_tried_again_although_nothing_else_is_asked_for(table: Table) -> None:
    table.fill()
    table.post(1)
    with pytest.raises(StoreUnavailable):
        table.do(2)
    table.free()

    assert table.told.get(timeout=BOUND_S) == 1


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
    def fail(transaction: Transaction) -> None:
        insert(transaction, 2)
        raise LookupError("mine")

    table.post(1)
    with pytest.raises(LookupError, match="mine"):
        table.writer.do(fail)
    table.writer.post(fail)
    table.do(3)

    assert table.rows() == [1, 3]
    assert [table.told.get(timeout=BOUND_S) for _ in range(2)] == [1, 3]
    assert table.told.empty()


def test_a_writer_writes_what_is_outstanding_and_then_refuses(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    for number in range(500):
        table.post(number)
    table.writer.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        table.do(1)
    assert connect(tmp_path / "t.sqlite").execute("select count(*) from t").fetchone()[0] == 500


def test_trouble_is_known_until_something_is_written_again(table: Table) -> None:
    table.do(0)
    told = [table.writer.trouble]
    table.fill()
    with pytest.raises(StoreUnavailable):
        table.do(1)
    told.append(table.writer.trouble)
    table.rows()  # a commit of nothing says nothing about the disk
    told.append(table.writer.trouble)
    table.free()
    table.do(2)
    told.append(table.writer.trouble)

    assert told == [None, "database or disk is full", "database or disk is full", None]
