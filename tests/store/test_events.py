"""The event log of a job, and the log over all jobs; one suite for every implementation."""

from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.events import EventFilter, EventKind
from cuttlebone.store.memory import MemoryState, open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from store.stores import (
    START,
    Lives,
    append,
    claimed,
    finish,
    insert,
    job,
    key,
    settle,
)

EVERYTHING = EventFilter()


def test_events_are_numbered_from_1_and_read_from_any_number(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    for value in range(5):
        append(stores, running, EventKind.PROGRESS, value)

    read = stores.events.read(key("a"), after=3, limit=3)

    assert [(event.number, event.data) for event in read] == [(4, 1), (5, 2), (6, 3)]
    assert list(stores.events.read(key("none"), after=0, limit=3)) == []


def test_the_last_progress_stands_on_the_job(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, {"page": 1})
    append(stores, running, EventKind.TOKEN, {"text": "x"})

    found = stores.jobs.get(key("a"))
    assert found is not None
    assert found.progress == {"page": 1}


def test_large_events_come_in_portions_and_none_is_left_out(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    for number in range(6):
        append(stores, running, EventKind.PROGRESS, [number, "x" * (300 << 10)])

    portions = []
    after = 2
    while portion := stores.events.read(key("a"), after=after, limit=100):
        portions.append(portion)
        after = portion[-1].number

    assert [event.number for portion in portions for event in portion] == list(range(3, 9))
    if stores.durable:
        assert [len(portion) for portion in portions] == [4, 2]


def test_an_attempt_that_is_over_adds_no_events(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    finish(stores, "a")
    before = len(stores.events.read(key("a"), after=0, limit=100))
    stores.events.append(running.fence, EventKind.TOKEN, {"text": "late"})
    settle(stores)

    assert len(stores.events.read(key("a"), after=0, limit=100)) == before


def test_events_of_a_kind_are_counted(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, 1)
    append(stores, running, EventKind.TOKEN, {"text": "x"})

    assert stores.events.count(key("a"), EventKind.PROGRESS) == 1


def test_a_subscriber_is_woken_by_every_change_of_its_job_and_by_no_other(stores: Stores) -> None:
    insert(stores, "a", "b")
    ours: list[str] = []
    everybodys: list[str] = []
    with (
        stores.events.subscribe(key("a"), lambda: ours.append("a")),
        stores.events.subscribe(None, lambda: everybodys.append("any")),
    ):
        running = claimed(stores)
        append(stores, running, EventKind.TOKEN, {"text": "x"})
        stores.jobs.release(running.fence)
        stores.jobs.request_cancel(key("a"))
        finish(stores, "a")
        stores.jobs.forget(key("a"))
        settle(stores)
        before = len(ours)
        claimed(stores)
        settle(stores)

    assert before == len(ours) == 6
    assert len(everybodys) > before


def fail() -> None:
    raise LookupError("a fault of a subscriber")


def test_a_subscriber_that_fails_stops_nobody(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    with stores.events.subscribe(key("a"), fail):
        append(stores, running, EventKind.TOKEN, {"text": "x"})
        finish(stores, "a")

    assert len(stores.events.read(key("a"), after=0, limit=9)) == 5


def all_events(stores: Stores, wanted: EventFilter = EVERYTHING) -> list[tuple[str, int | None]]:
    """Read to the end in small pages: the job of each event and its number, None for a gap."""
    found: list[tuple[str, int | None]] = []
    cursor: str | None = None
    while True:
        page = stores.events.read_all(cursor, wanted, limit=2)
        found.extend(
            (one.key.id, None if one.event is None else one.event.number) for one in page.events
        )
        if page.cursor == cursor:
            return found
        cursor = page.cursor


def test_the_events_of_all_jobs_are_read_in_one_order(stores: Stores) -> None:
    insert(stores, "a", "b")
    running = claimed(stores)
    append(stores, running, EventKind.TOKEN, {"text": "x"})
    finish(stores, "b")

    assert all_events(stores) == [
        ("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2), ("b", 3),
    ]  # fmt: skip


def test_a_reader_of_all_events_goes_on_behind_what_it_has_seen(stores: Stores) -> None:
    insert(stores, "a")
    seen = stores.events.read_all(None, EVERYTHING, limit=9)
    nothing = stores.events.read_all(seen.cursor, EVERYTHING, limit=9)
    insert(stores, "b")
    more = stores.events.read_all(seen.events[-1].cursor, EVERYTHING, limit=9)

    assert (nothing.events, nothing.cursor, nothing.gaps_lost) == ([], seen.cursor, False)
    assert [(one.key.id, one.event and one.event.data) for one in more.events] == [
        ("b", {"status": "queued"})
    ]


def test_events_of_all_jobs_are_filtered(stores: Stores) -> None:
    insert(stores, "a")
    stores.jobs.insert(job("b", "red"), waiting_max=9).result()
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, 1)

    assert all_events(stores, EventFilter(tenant="red")) == [("b", 1)]
    assert all_events(stores, EventFilter(kinds=frozenset({EventKind.PROGRESS}))) == [("a", 3)]


def test_a_job_that_was_forgotten_is_a_gap_to_those_who_had_not_seen_its_end(
    stores: Stores,
) -> None:
    insert(stores, "a", "b")
    finish(stores, "a")
    seen = stores.events.read_all(None, EVERYTHING, limit=9).cursor
    stores.jobs.forget(key("a"))
    insert(stores, "c")

    assert all_events(stores) == [("b", 1), ("a", None), ("c", 1)]
    assert [one.key.id for one in stores.events.read_all(seen, EVERYTHING, limit=9).events] == ["c"]


def test_a_place_in_the_log_is_never_given_twice(stores: Stores) -> None:
    insert(stores, "a")
    finish(stores, "a")
    seen = stores.events.read_all(None, EVERYTHING, limit=9).cursor
    stores.jobs.forget(key("a"))
    insert(stores, "b")

    assert [one.key.id for one in stores.events.read_all(seen, EVERYTHING, limit=9).events] == ["b"]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "9" * 40, "1 ", "٣"])
def test_a_cursor_that_was_not_given_is_refused(stores: Stores, cursor: str) -> None:
    with pytest.raises(CallerError) as caught:
        stores.events.read_all(cursor, EVERYTHING, limit=9)
    assert caught.value.code is ProblemCode.BAD_REQUEST


def bounded(kind: str, folder: Path) -> Stores:
    if kind == "memory":
        return open_memory_stores(kept_max=9, state=MemoryState(gaps_kept_max=2))
    return open_sqlite_stores(folder, gaps_kept_max=2)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_forgotten_jobs_that_are_named_are_bounded_and_it_is_said(
    kind: str, tmp_path: Path
) -> None:
    stores = bounded(kind, tmp_path)
    insert(stores, *"abcd")
    for name in "abcd":
        finish(stores, name)
        stores.jobs.forget(key(name))
    stores.jobs.forget_finished_before(START, ttl_s=1)  # a sweep, which the durable store waits for
    page = stores.events.read_all(None, EVERYTHING, limit=9)
    later = stores.events.read_all(page.events[0].cursor, EVERYTHING, limit=9)
    stores.close()

    assert ([one.key.id for one in page.events], page.gaps_lost) == (["c", "d"], True)
    assert ([one.key.id for one in later.events], later.gaps_lost) == (["d"], False)


def test_a_cursor_of_a_log_that_was_put_away_begins_anew_and_says_so(lives: Lives) -> None:
    before = lives.begin()
    insert(before, *"abc")
    cursor = before.events.read_all(None, EVERYTHING, limit=9).cursor
    other = (
        open_sqlite_stores(lives.another_folder())
        if before.durable
        else open_memory_stores(kept_max=9)
    )
    insert(other, "z")
    page = other.events.read_all(cursor, EVERYTHING, limit=9)
    other.close()

    assert ([one.key.id for one in page.events], page.gaps_lost) == (["z"], True)
