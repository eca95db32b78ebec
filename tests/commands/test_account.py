"""What a job pays for its generations."""

import pytest

from cuttlebone.commands.account import JobAccount
from cuttlebone.commands.budget import Budget
from cuttlebone.errors import CommandError
from cuttlebone.generation.spent import Spent
from cuttlebone.job_options import Limits


def spent(tokens: int) -> Spent:
    return Spent(
        tenant="local",
        role="writer",
        endpoint="small.gguf",
        tokens_in=10 * tokens,
        tokens_cached=5 * tokens,
        tokens_out=tokens,
        waited_s=0.1,
        prefill_s=0.2,
        decode_s=0.3,
    )


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
    assert (account.prefill_s, account.decode_s) == pytest.approx((0.4, 0.6))


def test_what_an_earlier_attempt_paid_counts_without_its_time() -> None:
    budget = Budget(Limits())
    account = JobAccount(budget)
    account.recall("writer", tokens_in=10, tokens_out=1)

    assert (budget.tokens_in, budget.tokens_out) == (10, 1)
    assert (account.served_by, account.prefill_s, account.decode_s) == ("writer", 0.0, 0.0)


def test_the_time_of_generations_is_that_of_the_wall() -> None:
    seconds = iter([0.0, 1.0, 4.0])
    account = JobAccount(Budget(Limits(), clock=lambda: next(seconds)))
    with account.inferring():
        pass

    assert account.infer_s == 3.0
