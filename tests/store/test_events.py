"""The event log of a job, and the log over all jobs; one suite for every implementation."""

from cuttlebone.job.events import EventKind
from cuttlebone.store.stores import Stores
from store.stores import accept, append, claimed, finish, key, settle


def test_events_are_numbered_from_1_and_read_from_any_number(stores: Stores) -> None:
    accept(stores, "a")
    running = claimed(stores)
    for value in range(5):
        append(stores, running, EventKind.PROGRESS, value)

    read = stores.events.read(key("a"), after=3, limit=3)

    assert [(event.number, event.data) for event in read] == [(4, 1), (5, 2), (6, 3)]
    assert list(stores.events.read(key("none"), after=0, limit=3)) == []


def test_the_last_progress_stands_on_the_job(stores: Stores) -> None:
    accept(stores, "a")
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, {"page": 1})
    append(stores, running, EventKind.TOKEN, {"text": "x"})

    found = stores.jobs.get(key("a"))
    assert found is not None
    assert found.progress == {"page": 1}


def test_large_events_come_in_portions_and_none_is_left_out(stores: Stores) -> None:
    accept(stores, "a")
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
    accept(stores, "a")
    running = claimed(stores)
    finish(stores, "a")
    before = len(stores.events.read(key("a"), after=0, limit=100))
    stores.events.append(running.fence, EventKind.TOKEN, {"text": "late"})
    settle(stores)

    assert len(stores.events.read(key("a"), after=0, limit=100)) == before


def test_events_of_a_kind_are_counted(stores: Stores) -> None:
    accept(stores, "a")
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, 1)
    append(stores, running, EventKind.TOKEN, {"text": "x"})

    assert stores.events.count(key("a"), EventKind.PROGRESS) == 1
