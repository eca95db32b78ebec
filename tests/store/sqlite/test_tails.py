"""The ends of event logs in memory: what a follower at the end is given, and when the file has to help."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Job
from cuttlebone.store.sqlite import stores_over
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.tails import TAIL_BYTES_MAX, TAIL_EVENTS_MAX, EventTails
from cuttlebone.store.sqlite.writer import Transaction
from cuttlebone.store.stores import Stores
from store.stores import BOUND_S, START, append, claimed, finish, insert, key, settle

A = key("a")


def nothing() -> None:
    """Who is woken for nothing."""


def event(number: int, size: int = 1) -> JobEvent:
    return JobEvent(number, EventKind.TOKEN, b"x" * size, START)


def numbers(tails: EventTails, after: int, limit: int = 10**6) -> list[int] | None:
    found = tails.read(A, after=after, limit=limit)
    return None if found is None else [one.number for one in found]


def test_a_follower_is_given_what_was_written_and_not_a_copy() -> None:
    tails, written = EventTails(), [event(number) for number in (5, 6, 7)]
    with tails.follow(A, nothing):
        tails.committed([(A, one) for one in written])
        found = tails.read(A, after=5, limit=9)
    assert found is not None
    assert [given is one for given, one in zip(found, written[1:], strict=True)] == [True, True]


def test_who_is_at_the_end_is_told_that_there_is_nothing_yet() -> None:
    tails = EventTails()
    with tails.follow(A, nothing):
        tails.committed([(A, event(1)), (A, event(2))])
        assert (numbers(tails, 2), numbers(tails, 1), numbers(tails, 0, 1)) == ([], [2], [1])


def test_what_is_before_the_tail_or_behind_it_only_the_file_knows() -> None:
    tails = EventTails()
    with tails.follow(A, nothing):
        assert numbers(tails, 0) is None
        tails.committed([(A, event(5))])
        assert (numbers(tails, 3), numbers(tails, 4), numbers(tails, 6)) == (None, [5], None)


def test_a_tail_is_bounded_in_events() -> None:
    tails = EventTails()
    with tails.follow(A, nothing):
        tails.committed([(A, event(number)) for number in range(1, TAIL_EVENTS_MAX + 2)])
        assert numbers(tails, 0) is None
        assert len(numbers(tails, 1) or ()) == TAIL_EVENTS_MAX


def test_a_tail_is_bounded_in_bytes() -> None:
    tails, half = EventTails(), TAIL_BYTES_MAX // 2
    with tails.follow(A, nothing):
        tails.committed([(A, event(number, half)) for number in (1, 2, 3)])
        assert (numbers(tails, 0), numbers(tails, 1)) == (None, [2, 3])
        tails.committed([(A, event(4, TAIL_BYTES_MAX + 1))])
        assert numbers(tails, 3) is None


def test_a_log_that_begins_anew_or_has_a_gap_leaves_nothing_of_the_old_tail() -> None:
    tails = EventTails()
    with tails.follow(A, nothing):
        tails.committed([(A, event(8)), (A, event(9))])
        tails.committed([(A, None), (A, event(1))])
        assert (numbers(tails, 8), numbers(tails, 0)) == (None, [1])
        tails.committed([(A, event(4))])
        assert (numbers(tails, 0), numbers(tails, 3)) == (None, [4])


def test_nothing_is_kept_of_a_job_that_nobody_follows() -> None:
    tails = EventTails()
    with tails.follow(A, nothing), tails.follow(A, nothing):
        tails.committed([(A, event(1)), (key("b"), event(1))])
    tails.committed([(A, event(2))])
    assert (numbers(tails, 0), tails.read(key("b"), after=0, limit=9)) == (None, None)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def stores(database: Database) -> Stores:
    return stores_over(database)


def running(stores: Stores) -> Job:
    insert(stores, "a")
    return claimed(stores)


def test_a_commit_wakes_a_follower_once_however_many_events_it_has(
    database: Database, stores: Stores
) -> None:
    attempt, woken, held = running(stores), list[str](), threading.Event()

    def hold(_transaction: Transaction) -> None:
        assert held.wait(BOUND_S)

    with stores.events.subscribe(A, lambda: woken.append("a")):
        database.post(hold)  # so that what comes now waits for the next commit
        for number in range(50):
            stores.events.append(attempt.fence, EventKind.TOKEN, {"text": str(number)})
        held.set()
        settle(stores)
    assert 1 <= len(woken) <= 2  # the commit that was held may have had the first ones
    assert len(stores.events.read(A, after=2, limit=99)) == 50


def test_a_follower_at_the_end_reads_nothing_from_the_file(
    database: Database, stores: Stores
) -> None:
    attempt = running(stores)
    with stores.events.subscribe(A, nothing):
        append(stores, attempt, EventKind.PROGRESS, {"page": 1})
        database.do(lambda transaction: transaction.connection.execute(SPOIL).rowcount)
        append(stores, attempt, EventKind.TOKEN, {"text": "x"})
        finish(stores, "a")
        told = stores.events.read(A, after=2, limit=99)
        assert stores.events.read(A, after=6, limit=99) == ()
    assert [one.number for one in told] == [3, 4, 5, 6]
    assert told[0].json == b'{"page":1}'
    assert stores.events.read(A, after=2, limit=1)[0].json == b"spoilt"


SPOIL = "update job_events set data = x'73706f696c74' where number = 3"


def test_who_is_behind_the_tail_reads_the_file_and_then_goes_on_in_memory(stores: Stores) -> None:
    attempt = running(stores)
    with stores.events.subscribe(A, nothing):
        for number in range(TAIL_EVENTS_MAX + 10):
            stores.events.append(attempt.fence, EventKind.TOKEN, {"text": str(number)})
        settle(stores)
        after, read = 0, list[JobEvent]()
        while page := stores.events.read(A, after=after, limit=300):
            read.extend(page)
            after = page[-1].number
    assert [one.number for one in read] == list(range(1, TAIL_EVENTS_MAX + 13))
    assert read[-1].data == {"text": str(TAIL_EVENTS_MAX + 9)}


def test_an_event_wakes_nobody_before_it_can_be_read_from_the_file(
    database: Database, stores: Stores
) -> None:
    attempt, seen = running(stores), list[tuple[int]]()

    def look() -> None:
        with database.reader() as reader:
            seen.extend(reader.execute("select number from job_events order by row desc limit 1"))

    with stores.events.subscribe(A, look):
        append(stores, attempt, EventKind.TOKEN, {"text": "x"})
    assert [number for (number,) in seen] == [3]
