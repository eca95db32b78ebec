"""The journal of a job in a store; one suite for every implementation."""

from dataclasses import replace

from cuttlebone.store.journal import JOURNAL_BYTES_READ_MAX
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


def test_a_journal_is_read_in_bounded_parts(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    large = b"x" * (JOURNAL_BYTES_READ_MAX // 3)
    entries = [replace(ENTRY, step=step, event=large) for step in range(1, 9)]
    for entry in entries:
        stores.journal.record(running.fence, entry)

    pages, after = [], 0
    while page := stores.journal.read(key("a"), after=after):
        pages.append([entry.step for entry in page])
        after = page[-1].step

    assert pages == [[1, 2, 3], [4, 5, 6], [7, 8]]
    assert list(stores.journal.read(key("a"), after=7)) == entries[7:]


def test_an_entry_that_is_larger_than_a_part_is_one_by_itself(stores: Stores) -> None:
    insert(stores, "a")
    running = claimed(stores)
    for step in (1, 2):
        entry = replace(ENTRY, step=step, event=b"x" * (2 * JOURNAL_BYTES_READ_MAX))
        stores.journal.record(running.fence, entry)

    assert [entry.step for entry in stores.journal.read(key("a"), after=0)] == [1]


def test_the_last_step_is_known_without_reading_the_journal(stores: Stores) -> None:
    insert(stores, "a")
    before = stores.journal.last_step(key("a"))
    running = claimed(stores)
    for step in (1, 2):
        stores.journal.record(running.fence, replace(ENTRY, step=step))

    assert (before, stores.journal.last_step(key("a"))) == (0, 2)
    assert stores.journal.last_step(key("nobody")) == 0
    assert not stores.journal.read(key("nobody"), after=0)
