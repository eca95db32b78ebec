"""The event log and the journal of a job in a store; one suite for every implementation."""

from dataclasses import replace

from cuttlebone.job.events import EventKind
from cuttlebone.store.jobs import JobStore
from store.stores import ENTRY, PART, accept, append, claimed, finish


def test_events_are_numbered_from_1_and_read_from_any_number(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    for value in range(5):
        append(store, running, EventKind.PROGRESS, value)

    read = store.events("a", after=3, limit=3)

    assert [(event.number, event.data) for event in read] == [(4, 1), (5, 2), (6, 3)]
    assert list(store.events("none", after=0, limit=3)) == []


def test_the_last_progress_stands_on_the_job(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    append(store, running, EventKind.PROGRESS, {"page": 1})
    append(store, running, EventKind.TOKEN, {"text": "x"})

    found = store.get("a")
    assert found is not None
    assert found.progress == {"page": 1}


def test_large_events_come_in_portions_and_none_is_left_out(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    for number in range(6):
        append(store, running, EventKind.PROGRESS, [number, "x" * (300 << 10)])

    portions = []
    after = 2
    while portion := store.events("a", after=after, limit=100):
        portions.append(portion)
        after = portion[-1].number

    assert [event.number for portion in portions for event in portion] == list(range(3, 9))
    if store.durable:
        assert [len(portion) for portion in portions] == [4, 2]


def test_an_attempt_that_is_over_adds_no_events(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    finish(store, "a")
    before = len(store.events("a", after=0, limit=100))
    store.append(running, EventKind.TOKEN, {"text": "late"}, after=lambda: None)
    accept(store, "b")  # a write that is answered comes after it

    assert len(store.events("a", after=0, limit=100)) == before


def test_events_of_a_kind_are_counted(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    append(store, running, EventKind.PROGRESS, 1)
    append(store, running, EventKind.TOKEN, {"text": "x"})

    assert store.count_events("a", EventKind.PROGRESS) == 1


def test_the_journal_keeps_entries_in_order(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    first = replace(ENTRY, event=None, pieces=())
    second = replace(ENTRY, step=2)
    store.record(running, first)
    store.record(running, second)

    assert list(store.journal("a")) == [first, second]


def test_an_attempt_that_is_over_records_nothing(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    store.record(replace(running, attempt=7), ENTRY)

    assert list(store.journal("a")) == []


def test_parts_are_read_by_step_and_number_whatever_came_first(store: JobStore) -> None:
    accept(store, "a", "b")
    running = claimed(store)
    parts = [PART, replace(PART, number=1, result=b"{}"), replace(PART, step=2)]
    for part in reversed(parts):
        store.record_part(running, part)

    assert list(store.journal_parts("a")) == parts
    assert list(store.journal_parts("b")) == []


def test_the_whole_entry_takes_the_place_of_its_parts_alone(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    other = replace(PART, step=2)
    for part in (PART, replace(PART, number=1), other):
        store.record_part(running, part)
    store.record(running, ENTRY)

    assert list(store.journal_parts("a")) == [other]


def test_an_attempt_that_is_over_neither_records_parts_nor_takes_any(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    store.record_part(running, PART)
    late = replace(running, attempt=7)
    store.record_part(late, replace(PART, number=1))
    store.record(late, ENTRY)

    assert list(store.journal_parts("a")) == [PART]


def test_parts_are_there_for_the_next_attempt_and_not_after_the_end(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    store.record_part(running, PART)
    store.release(running)
    claimed(store)
    before = list(store.journal_parts("a"))
    finish(store, "a", attempt=2)

    assert before == [PART]
    assert list(store.journal_parts("a")) == []
