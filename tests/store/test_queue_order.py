"""What a store accepts, and in which order it hands jobs out; one suite for every implementation."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job import PRIORITY_LEAD_S
from cuttlebone.job_options import Priority
from cuttlebone.store.jobs import JobStore
from cuttlebone_abi import JobStatus
from store.stores import START, accept, claimed, finish, job, of_tenant


def test_an_accepted_job_is_there_as_it_was_given(store: JobStore) -> None:
    accept(store, "a")

    assert store.get("a") == job("a")
    assert store.get("b") is None


def test_a_full_queue_accepts_nothing(store: JobStore) -> None:
    accept(store, "a")

    with pytest.raises(CallerError) as caught:
        store.accept(job("b"), waiting_max=1).result()

    assert caught.value.code is ProblemCode.QUEUE_FULL
    assert (store.get("b"), store.waiting()) == (None, 1)


def test_an_interactive_job_goes_before_batch_jobs_but_not_before_old_ones(
    store: JobStore,
) -> None:
    old = replace(job("old"), created_at=START - timedelta(seconds=PRIORITY_LEAD_S + 1))
    urgent = replace(job("urgent"), priority=Priority.INTERACTIVE)
    for one in (job("batch"), urgent, old):
        store.accept(one, waiting_max=9).result()

    assert [claimed(store).id for _ in range(3)] == ["old", "urgent", "batch"]


def test_the_same_request_with_the_same_key_is_the_same_job(store: JobStore) -> None:
    first = store.accept(job("a"), waiting_max=9, idempotency_key="k").result()
    again = replace(job("b"), request_sha256=first.request_sha256)

    assert store.accept(again, waiting_max=9, idempotency_key="k").result().id == "a"
    assert store.get("b") is None


def test_another_request_with_the_same_key_is_refused(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k").result()

    with pytest.raises(CallerError) as caught:
        store.accept(job("b"), waiting_max=9, idempotency_key="k").result()
    assert caught.value.code is ProblemCode.IDEMPOTENCY_MISMATCH


def test_tenants_do_not_share_keys(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k").result()
    other = replace(job("b"), tenant="other")

    assert store.accept(other, waiting_max=9, idempotency_key="k").result().id == "b"


def test_the_same_request_with_the_same_id_is_the_same_job(store: JobStore) -> None:
    accept(store, "a")
    claimed(store)

    assert store.accept(job("a"), waiting_max=9).result().status is JobStatus.RUNNING


def test_another_request_with_the_same_id_is_refused(store: JobStore) -> None:
    accept(store, "a")

    with pytest.raises(CallerError) as caught:
        store.accept(replace(job("a"), request_sha256="other"), waiting_max=9).result()
    assert caught.value.code is ProblemCode.JOB_EXISTS


def test_the_oldest_job_is_claimed_first(store: JobStore) -> None:
    accept(store, "a", "b")

    first, second, third = store.claim(), store.claim(), store.claim()

    assert first is not None
    assert second is not None
    assert (first.id, second.id, third) == ("a", "b", None)
    assert (first.status, first.attempt) == (JobStatus.RUNNING, 1)
    assert first.started_at is not None


def test_a_queued_job_knows_its_place(store: JobStore) -> None:
    accept(store, "a", "b", "c")
    store.claim()

    assert [store.position(name) for name in "abc"] == [None, 0, 1]


def test_a_tenant_has_only_its_share_of_the_queue(store: JobStore) -> None:
    store.accept(of_tenant("a", "x"), waiting_max=9, tenant_waiting_max=1).result()

    with pytest.raises(CallerError) as caught:
        store.accept(of_tenant("b", "x"), waiting_max=9, tenant_waiting_max=1).result()
    store.accept(of_tenant("c", "y"), waiting_max=9, tenant_waiting_max=1).result()

    assert caught.value.code is ProblemCode.QUOTA_EXCEEDED
    assert caught.value.retry_after_s
    assert store.waiting() == 2


def test_a_tenant_with_enough_jobs_running_is_passed_over(store: JobStore) -> None:
    for one in (of_tenant("a", "x"), of_tenant("b", "x"), of_tenant("c", "y")):
        store.accept(one, waiting_max=9).result()

    claimed_ids = [one and one.id for one in (store.claim(tenant_running_max=1) for _ in range(3))]
    finish(store, "a")
    freed = store.claim(tenant_running_max=1)

    assert claimed_ids == ["a", "c", None]
    assert freed is not None
    assert freed.id == "b"


def test_a_released_job_goes_back_to_its_place_in_the_queue(store: JobStore) -> None:
    accept(store, "a", "b")
    running = claimed(store)
    store.release(running)

    again = claimed(store)
    assert (again.id, again.attempt, again.crashes) == ("a", 2, 0)
    assert not finish(store, "a", attempt=1)


def test_queued_jobs_that_waited_too_long_are_found(store: JobStore) -> None:
    store.accept(replace(job("a"), expires_at=START), waiting_max=9).result()
    store.accept(replace(job("b"), expires_at=START + timedelta(days=1)), waiting_max=9).result()
    accept(store, "c")

    assert [one.id for one in store.expired(START)] == ["a"]
