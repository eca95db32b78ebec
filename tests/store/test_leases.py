"""Who runs an attempt: what is taken from whom, and what a late writer can still do; one suite for both."""

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job
from cuttlebone.store.leases import LEASE_S, RENEW_EVERY_S
from cuttlebone.store.stores import Stores
from cuttlebone_abi import JobStatus
from store.stores import DONE, ENTRY, PART, Lives, claimed, insert, key, settle


def running_in(stores: Stores, name: str) -> Job:
    insert(stores, name)
    return claimed(stores)


def recovered(stores: Stores) -> list[str]:
    return [one.id for one in stores.jobs.recover()]


def test_what_the_killed_host_of_the_folder_ran_is_taken_over_at_once(lives: Lives) -> None:
    before = lives.begin()
    running_in(before, "a")
    lives.end(before)
    after = lives.begin()

    (taken,) = after.jobs.recover()
    assert (taken.id, taken.status, taken.owner, taken.crashes) == ("a", JobStatus.QUEUED, "", 1)


def test_nothing_is_taken_from_an_owner_that_renews_its_leases(lives: Lives) -> None:
    one, two = lives.begin("one"), lives.begin("two")
    running_in(one, "a")
    for _ in range(9):
        lives.clock.move_on(RENEW_EVERY_S)
        one.jobs.renew()
        assert not recovered(two)


def test_what_nobody_renews_is_taken_when_its_lease_has_ended(lives: Lives) -> None:
    one, two = lives.begin("one"), lives.begin("two")
    running_in(one, "a")
    lives.clock.move_on(LEASE_S - 1)
    assert not recovered(two)
    lives.clock.move_on(1)

    assert recovered(two) == ["a"]
    again = claimed(two)
    assert (again.attempt, again.crashes) == (2, 1)


def test_an_owner_takes_nothing_from_itself_however_late_it_is(lives: Lives) -> None:
    stores = lives.begin()
    running_in(stores, "a")
    lives.clock.move_on(2 * LEASE_S)

    assert not recovered(stores)


def test_to_renew_is_to_say_so_of_what_one_runs_oneself(lives: Lives) -> None:
    one, two = lives.begin("one"), lives.begin("two")
    running_in(one, "a")
    lives.clock.move_on(LEASE_S)
    two.jobs.renew()

    assert recovered(two) == ["a"]


@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_late_writer_changes_nothing(lives: Lives, *, claimed_again: bool) -> None:
    one, two = lives.begin("one"), lives.begin("two")
    late = running_in(one, "a").fence
    lives.clock.move_on(LEASE_S)
    two.jobs.recover()
    if claimed_again:
        claimed(two)
    before = two.jobs.get(key("a")), two.events.read(key("a"), after=0, limit=99)

    one.events.append(late, EventKind.PROGRESS, "late")
    one.journal.record(late, ENTRY)
    one.journal.record_part(late, PART)
    one.jobs.release(late)
    assert not one.jobs.finish(late, envelope=DONE, accounting=None)
    settle(one)

    assert (two.jobs.get(key("a")), two.events.read(key("a"), after=0, limit=99)) == before
    assert not two.journal.journal(key("a"))
    assert not two.journal.parts(key("a"))


def test_a_name_is_held_by_one_process_at_a_time(lives: Lives) -> None:
    first = lives.begin("one")
    if not first.durable:
        return  # what one process has in memory no other one can reach
    with pytest.raises(OperatorError, match="another host uses the state folder"):
        lives.begin("one")
