"""The journal of a job in a store; one suite for every implementation."""

from dataclasses import replace

from cuttlebone.store.stores import Stores
from store.stores import ENTRY, PART, claimed, finish, insert, key


def test_the_journal_keeps_entries_in_order(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    first = replace(ENTRY, event=None, pieces=())
    second = replace(ENTRY, step=2)
    stores.journal.record(running.fence, first)
    stores.journal.record(running.fence, second)

    assert list(stores.journal.journal(key("a"))) == [first, second]


def test_an_attempt_that_is_over_records_nothing(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    stores.journal.record(running.fence._replace(attempt=7), ENTRY)

    assert list(stores.journal.journal(key("a"))) == []


def test_parts_are_read_by_step_and_number_whatever_came_first(stores: Stores) -> None:
    insert(stores, "a", "b")
    running = claimed(stores)
    parts = [PART, replace(PART, number=1, result=b"{}"), replace(PART, step=2)]
    for part in reversed(parts):
        stores.journal.record_part(running.fence, part)

    assert list(stores.journal.parts(key("a"))) == parts
    assert list(stores.journal.parts(key("b"))) == []


def test_the_whole_entry_takes_the_place_of_its_parts_alone(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    other = replace(PART, step=2)
    for part in (PART, replace(PART, number=1), other):
        stores.journal.record_part(running.fence, part)
    stores.journal.record(running.fence, ENTRY)

    assert list(stores.journal.parts(key("a"))) == [other]


def test_an_attempt_that_is_over_neither_records_parts_nor_takes_any(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    stores.journal.record_part(running.fence, PART)
    late = running.fence._replace(attempt=7)
    stores.journal.record_part(late, replace(PART, number=1))
    stores.journal.record(late, ENTRY)

    assert list(stores.journal.parts(key("a"))) == [PART]


def test_parts_are_there_for_the_next_attempt_and_not_after_the_end(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    stores.journal.record_part(running.fence, PART)
    stores.jobs.release(running.fence)
    claimed(stores)
    before = list(stores.journal.parts(key("a")))
    finish(stores, "a", attempt=2)

    assert before == [PART]
    assert list(stores.journal.parts(key("a"))) == []
