"""What a job pays for its generations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists, tuples

from cuttlebone.commands.account import JobAccount
from cuttlebone.commands.budget import Budget
from cuttlebone.errors import CommandError
from cuttlebone.generation.spent import Spent
from cuttlebone.job_options import Limits


def spent(tokens: int, *, submitted_s: float = 0.0) -> Spent:
    return Spent(
        tenant="local",
        role="writer",
        endpoint="small.gguf",
        tokens_in=10 * tokens,
        tokens_cached=5 * tokens,
        tokens_out=tokens,
        submitted_s=submitted_s,
        waited_s=0.1,
        prefill_s=0.2,
        decode_s=0.3,
    )


@pytest.mark.parametrize(
    ("texts", "expected"), [([], None), ([True, True], True), ([True, False, True], False)]
)
def test_one_text_that_may_depend_on_neighbours_is_enough(
    texts: Sequence[bool], expected: object
) -> None:
    account = JobAccount(Budget(Limits()))
    for exact in texts:
        account.charge(replace(spent(1), exact=exact))
    assert account.exact is expected


def test_generations_are_admitted_up_to_the_limit_of_the_job() -> None:
    account = JobAccount(Budget(Limits(infer_calls=1)))
    account.admit()
    with pytest.raises(CommandError, match="infer_calls"):
        account.admit()


def test_what_generations_took_adds_up_and_counts_against_the_budget() -> None:
    budget = Budget(Limits())
    account = JobAccount(budget)
    account.charge(spent(1))
    account.charge(spent(2))

    assert (budget.tokens_in, budget.tokens_out) == (30, 3)
    assert (account.served_by, account.tokens_cached) == ("writer", 15)


def test_what_an_earlier_attempt_paid_counts_without_its_time() -> None:
    budget = Budget(Limits())
    account = JobAccount(budget)
    account.recall("writer", tokens_in=10, tokens_out=1)

    assert (budget.tokens_in, budget.tokens_out) == (10, 1)
    assert (account.served_by, account.prefill_s, account.decode_s) == ("writer", 0.0, 0.0)


class Clock:
    """Stands until it is moved on."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Waited:
    waited_s: float


def test_the_time_of_generations_is_that_of_the_wall() -> None:
    clock = Clock()
    account = JobAccount(Budget(Limits(), clock=clock))
    with account.inferring():
        clock.now_s = 3.0

    assert (account.infer_s, account.waited_s, account.prefill_s) == (3.0, 0.0, 0.0)


def test_generations_side_by_side_share_the_time_of_the_clock() -> None:
    clock = Clock()
    budget = Budget(Limits(), clock=clock)
    account = JobAccount(budget)
    with account.inferring():
        with budget.waiting_for(Waited(0.1)):
            clock.now_s = 0.7
        for number in range(16):
            account.charge(spent(1, submitted_s=number / 160))

    assert account.shared_s == 0
    # The first decodes from 0.3 on, the last one until 0.69375.
    assert account.infer_s == 0.7
    assert account.waited_s == pytest.approx(0.1)
    assert account.prefill_s == pytest.approx(0.2)
    assert account.decode_s == pytest.approx(0.39375)


def test_of_the_time_at_the_model_it_says_what_others_had() -> None:
    clock = Clock()
    account = JobAccount(Budget(Limits(), clock=clock))
    with account.inferring():
        account.charge(replace(spent(1), batches_from_s=5.0, batches_to_s=5.4, own_s=0.1))
        clock.now_s = 0.6

    assert account.shared_s == pytest.approx(0.3)


def test_what_a_verdict_takes_is_the_time_of_the_guest() -> None:
    clock = Clock()
    account = JobAccount(Budget(Limits(), clock=clock))
    with account.inferring():
        account.heard(0.25)
        account.charge(spent(1))
        clock.now_s = 0.6

    assert account.infer_s == pytest.approx(0.35)
    assert account.decode_s == pytest.approx(0.05)


MOMENTS = floats(0, 100)
GENERATIONS = lists(tuples(MOMENTS, MOMENTS, MOMENTS, MOMENTS), max_size=20)


@given(generations=GENERATIONS, took_s=MOMENTS, waited_s=MOMENTS, heard_s=MOMENTS)
def test_parts_of_the_time_are_never_more_than_the_whole(
    generations: list[tuple[float, float, float, float]],
    took_s: float,
    waited_s: float,
    heard_s: float,
) -> None:
    clock = Clock()
    budget = Budget(Limits(), clock=clock)
    account = JobAccount(budget)
    with account.inferring():
        with budget.waiting_for(Waited(waited_s)):
            clock.now_s = took_s
        account.heard(heard_s)
        for submitted_s, before_s, prefill_s, decode_s in generations:
            account.charge(
                replace(
                    spent(1, submitted_s=submitted_s),
                    waited_s=before_s,
                    prefill_s=prefill_s,
                    decode_s=decode_s,
                )
            )

    parts = account.waited_s, account.prefill_s, account.decode_s
    assert min(parts) >= 0
    assert sum(parts) <= account.infer_s + 1e-9
    assert account.infer_s <= took_s
