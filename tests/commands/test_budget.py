"""The budget: time with waiting left out, counts, and one cause that ends a job."""

from dataclasses import dataclass

import pytest

from cuttlebone.commands.budget import Budget
from cuttlebone.errors import JobError
from cuttlebone.job_options import Limits
from cuttlebone_abi import ErrorCode

CANCEL = JobError(ErrorCode.CANCELLED, "cancelled by request")


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Waiter:
    waited_s: float = 0.0


def test_time_runs_out_after_time_ms() -> None:
    clock = Clock()
    budget = Budget(Limits(time_ms=2000), clock=clock)
    clock.now += 1.5
    assert budget.due_in_s() == pytest.approx(0.5)
    assert not budget.expire()

    clock.now += 0.5

    assert budget.expire()
    with pytest.raises(JobError, match=r"time_ms.*2000") as caught:
        budget.check()
    assert caught.value.code is ErrorCode.TIMEOUT


def test_waiting_for_the_model_is_left_out_of_the_time() -> None:
    clock = Clock()
    budget = Budget(Limits(time_ms=2000, infer_wait_ms=50_000), clock=clock)
    waiter = Waiter()
    with budget.waiting_for(waiter):
        clock.now += 10
        waiter.waited_s = 10
        assert budget.due_in_s() == pytest.approx(2)
    clock.now += 1

    assert budget.due_in_s() == pytest.approx(1)


def test_waiting_for_the_model_has_a_bound_of_its_own() -> None:
    clock = Clock()
    budget = Budget(Limits(time_ms=2000, infer_wait_ms=3000), clock=clock)
    waiter = Waiter()
    with budget.waiting_for(waiter):
        clock.now += 3
        waiter.waited_s = 3

        assert budget.expire()

    with pytest.raises(JobError, match="infer_wait_ms"):
        budget.check()


def test_the_first_cause_wins() -> None:
    budget = Budget(Limits())

    assert budget.stop(CANCEL)
    assert not budget.stop(JobError(ErrorCode.TIMEOUT, "later"))
    assert not budget.settle()
    assert budget.end is CANCEL


def test_a_result_that_stands_cannot_be_stopped() -> None:
    budget = Budget(Limits())

    assert budget.settle()
    assert not budget.stop(CANCEL)
    budget.check()


def test_whoever_waits_is_told_of_the_stop_once() -> None:
    budget = Budget(Limits())
    told: list[str] = []
    with budget.when_stopped(lambda: told.append("first")):
        budget.stop(CANCEL)
        budget.stop(CANCEL)
    with budget.when_stopped(lambda: told.append("second")):
        pass

    assert told == ["first", "second"]


def test_whoever_has_left_is_not_told() -> None:
    budget = Budget(Limits())
    told: list[str] = []
    with budget.when_stopped(lambda: told.append("gone")):
        pass
    budget.stop(CANCEL)

    assert told == []


def test_prompt_tokens_are_limited() -> None:
    budget = Budget(Limits(tokens_in=100))
    budget.spend_tokens(60, 5)
    budget.check_tokens_in(40)

    with pytest.raises(JobError, match=r"tokens_in: .*100"):
        budget.check_tokens_in(41)
