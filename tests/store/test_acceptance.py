"""What a store accepts, and in which order it hands jobs out; one suite for every implementation."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import PRIORITY_LEAD_S
from cuttlebone.job_options import Priority
from cuttlebone.store.jobs import POSITION_MAX
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import JobStatus
from store.stores import ENTRY, START, append, claimed, finish, insert, job, key


def test_an_accepted_job_is_there_as_it_was_given(stores: Stores) -> None:
    insert(stores, "a")

    assert stores.jobs.get(key("a")) == job("a")
    assert stores.jobs.get(key("b")) is None


def test_a_full_queue_accepts_nothing(stores: Stores) -> None:
    insert(stores, "a")

    with pytest.raises(CallerError) as caught:
        stores.jobs.insert(job("b"), waiting_max=1).result()

    assert caught.value.code is ProblemCode.QUEUE_FULL
    assert (stores.jobs.get(key("b")), stores.jobs.waiting()) == (None, 1)


def test_an_interactive_job_goes_before_batch_jobs_but_not_before_old_ones(
    stores: Stores,
) -> None:
    old = replace(job("old"), created_at=START - timedelta(seconds=PRIORITY_LEAD_S + 1))
    urgent = replace(job("urgent"), priority=Priority.INTERACTIVE)
    for one in (old, job("batch"), urgent):
        stores.jobs.insert(one, waiting_max=9).result()

    assert [claimed(stores).id for _ in range(3)] == ["old", "urgent", "batch"]


def test_a_wall_clock_that_is_set_back_lets_no_job_go_before_those_that_wait(
    stores: Stores,
) -> None:
    back = replace(job("back"), created_at=START - timedelta(days=1))
    for one in (job("first"), back, job("last")):
        stores.jobs.insert(one, waiting_max=9).result()

    assert [claimed(stores).id for _ in range(3)] == ["first", "back", "last"]


def test_the_clock_of_acceptance_goes_on_where_an_earlier_life_left_it(tmp_path: Path) -> None:
    before = open_sqlite_stores(tmp_path)
    insert(before, "first")
    before.close()
    after = open_sqlite_stores(tmp_path)
    back = replace(job("back"), created_at=START - timedelta(days=1))
    urgent = replace(job("urgent"), created_at=START, priority=Priority.INTERACTIVE)
    for one in (back, urgent):
        after.jobs.insert(one, waiting_max=9).result()
    line = [claimed(after).id for _ in range(3)]
    after.close()

    assert line == ["urgent", "first", "back"]


def test_tenants_may_use_the_same_id(stores: Stores) -> None:
    insert(stores, "a")
    stores.jobs.insert(job("a", "other"), waiting_max=9).result()
    finish(stores, "a")

    assert stores.jobs.position(key("a", "other")) == 0
    theirs = claimed(stores)
    assert (theirs.key, theirs.status) == (key("a", "other"), JobStatus.RUNNING)
    append(stores, theirs, EventKind.PROGRESS, "theirs")
    stores.journal.record(theirs.fence, ENTRY)
    stores.jobs.request_cancel(theirs.key)

    ours = stores.jobs.get(key("a"))
    assert ours is not None
    assert (ours.status, ours.progress, ours.cancel_requested) == (JobStatus.COMPLETED, None, False)
    assert not stores.journal.journal(key("a"))
    assert stores.jobs.forget(key("a"))
    assert stores.events.read(theirs.key, after=0, limit=9)[-1].data == "theirs"


def test_the_same_request_with_the_same_key_is_the_same_job(stores: Stores) -> None:
    first = stores.jobs.insert(job("a"), waiting_max=9, idempotency_key="k").result()
    again = replace(job("b"), request_sha256=first.request_sha256)

    assert stores.jobs.insert(again, waiting_max=9, idempotency_key="k").result().id == "a"
    assert stores.jobs.get(key("b")) is None


def test_another_request_with_the_same_key_is_refused(stores: Stores) -> None:
    stores.jobs.insert(job("a"), waiting_max=9, idempotency_key="k").result()

    with pytest.raises(CallerError) as caught:
        stores.jobs.insert(job("b"), waiting_max=9, idempotency_key="k").result()
    assert caught.value.code is ProblemCode.IDEMPOTENCY_MISMATCH


def test_tenants_do_not_share_keys(stores: Stores) -> None:
    stores.jobs.insert(job("a"), waiting_max=9, idempotency_key="k").result()
    other = replace(job("b"), tenant="other")

    assert stores.jobs.insert(other, waiting_max=9, idempotency_key="k").result().id == "b"


def test_the_same_request_with_the_same_id_is_the_same_job(stores: Stores) -> None:
    insert(stores, "a")
    claimed(stores)

    assert stores.jobs.insert(job("a"), waiting_max=9).result().status is JobStatus.RUNNING


def test_another_request_with_the_same_id_is_refused(stores: Stores) -> None:
    insert(stores, "a")

    with pytest.raises(CallerError) as caught:
        stores.jobs.insert(replace(job("a"), request_sha256="other"), waiting_max=9).result()
    assert caught.value.code is ProblemCode.JOB_EXISTS


def test_the_oldest_job_is_claimed_first(stores: Stores) -> None:
    insert(stores, "a", "b")

    first, second, third = stores.jobs.claim(), stores.jobs.claim(), stores.jobs.claim()

    assert first is not None
    assert second is not None
    assert (first.id, second.id, third) == ("a", "b", None)
    assert (first.status, first.attempt) == (JobStatus.RUNNING, 1)
    assert first.started_at is not None


def test_a_queued_job_knows_its_place(stores: Stores) -> None:
    insert(stores, "a", "b", "c")
    stores.jobs.claim()

    assert [stores.jobs.position(key(name)) for name in "abc"] == [None, 0, 1]


def test_the_place_of_a_job_tells_nothing_of_what_others_have_submitted(stores: Stores) -> None:
    insert(stores, "a", "b")
    stores.jobs.insert(job("c", "other"), waiting_max=9).result()
    insert(stores, "d")

    assert stores.jobs.position(key("c", "other")) == 0
    assert stores.jobs.position(key("d")) == 2


def test_a_place_is_counted_so_far_and_no_further(stores: Stores) -> None:
    names = [f"job-{number}" for number in range(POSITION_MAX + 2)]
    coming = [stores.jobs.insert(job(name), waiting_max=len(names)) for name in names]
    for one in coming:
        one.result()

    places = [stores.jobs.position(key(name)) for name in names[-3:]]
    assert places == [POSITION_MAX - 1, POSITION_MAX, POSITION_MAX]


def test_a_tenant_has_only_its_share_of_the_queue(stores: Stores) -> None:
    stores.jobs.insert(job("a", "x"), waiting_max=9, tenant_waiting_max=1).result()

    with pytest.raises(CallerError) as caught:
        stores.jobs.insert(job("b", "x"), waiting_max=9, tenant_waiting_max=1).result()
    stores.jobs.insert(job("c", "y"), waiting_max=9, tenant_waiting_max=1).result()

    assert caught.value.code is ProblemCode.QUOTA_EXCEEDED
    assert caught.value.retry_after_s
    assert stores.jobs.waiting() == 2


def test_a_tenant_with_enough_jobs_running_is_passed_over(stores: Stores) -> None:
    for one in (job("a", "x"), job("b", "x"), job("c", "y")):
        stores.jobs.insert(one, waiting_max=9).result()

    claimed_ids = [
        one and one.id for one in (stores.jobs.claim(tenant_running_max=1) for _ in range(3))
    ]
    finish(stores, "a", tenant="x")
    freed = stores.jobs.claim(tenant_running_max=1)

    assert claimed_ids == ["a", "c", None]
    assert freed is not None
    assert freed.id == "b"


def test_a_released_job_goes_back_to_its_place_in_the_queue(stores: Stores) -> None:
    insert(stores, "a", "b")
    running = claimed(stores)
    stores.jobs.release(running.fence)

    again = claimed(stores)
    assert (again.id, again.attempt, again.crashes) == ("a", 2, 0)
    assert not finish(stores, "a", attempt=1)


def test_queued_jobs_that_waited_too_long_are_found(stores: Stores) -> None:
    stores.jobs.insert(replace(job("a"), expires_at=START), waiting_max=9).result()
    stores.jobs.insert(
        replace(job("b"), expires_at=START + timedelta(days=1)), waiting_max=9
    ).result()
    insert(stores, "c")

    assert [one.key for one in stores.jobs.expired(START)] == [key("a")]
