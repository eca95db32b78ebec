"""Whatever a module contains or does, it ends in the code that its author needs, and nothing else happens."""

import threading

import pytest

from bounds import scaled
from cuttlebone.commands.budget import Budget
from cuttlebone.errors import JobError
from cuttlebone.job_options import Limits
from cuttlebone_abi import ErrorCode
from hostile.corpus import Attack, attacks, names_on_disk
from hostile.harness import COMPLETED, LIMITS, Outcome, Target

ATTACKS = tuple(attacks())
SOON = LIMITS.model_copy(update={"time_ms": 300})
"""For what is told by time alone; everything else has plenty of it, whatever the machine does."""


def limits_for(attack: Attack) -> Limits:
    return SOON if attack.code == ErrorCode.TIMEOUT else LIMITS


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.group}/{attack.name}")
def test_every_attack_ends_as_the_table_says(target: Target, attack: Attack) -> None:
    outcome = target.run(attack.wasm(), limits_for(attack))
    assert (outcome.code, outcome.message[:300]) == (attack.code, outcome.message[:300])
    assert attack.saying in outcome.message
    # What a guest says itself, in `fail`, is its own; to show it safely is up to whoever shows it.
    if not attack.name.startswith("fail"):
        assert outcome.message.isprintable()
        assert len(outcome.message) <= 6000


def test_every_attack_has_an_ending_and_every_ending_an_attack() -> None:
    assert {(attack.group, attack.name) for attack in ATTACKS} == names_on_disk()
    assert len(ATTACKS) >= 80


def wasm_of(name: str) -> bytes:
    return next(attack for attack in ATTACKS if attack.name == name).wasm()


def test_a_harmless_job_ends_while_others_loop_and_all_of_them_can_be_cancelled(
    target: Target,
) -> None:
    budgets = [Budget(LIMITS) for _ in range(4)]
    outcomes: list[Outcome] = []

    def loop(budget: Budget) -> None:
        outcomes.append(target.run(wasm_of("loop_in_init"), budget=budget))

    threads = [threading.Thread(target=loop, args=(budget,)) for budget in budgets]
    for thread in threads:
        thread.start()
    assert target.run(wasm_of("harmless")).code == COMPLETED
    assert outcomes == []
    for budget in budgets:
        budget.stop(JobError(ErrorCode.CANCELLED, "enough"))
    for thread in threads:
        thread.join(scaled(20))
    assert [outcome.code for outcome in outcomes] == [ErrorCode.CANCELLED] * 4


def test_fuel_ends_a_loop_wherever_it_is(target: Target) -> None:
    limits = LIMITS.model_copy(update={"fuel": 100_000})
    for name in ("loop_in_init", "loop_in_step", "alloc_loops", "on_token_loops"):
        outcome = target.run(wasm_of(name), limits)
        assert outcome.code == ErrorCode.LIMIT_EXCEEDED
        assert outcome.message.startswith("fuel: 100000 operations are spent")


CAUSED_ELSEWHERE = {
    # By a model or a file, not by what a module contains or does.
    ErrorCode.MODEL_LOAD_FAILED,
    ErrorCode.INFER_FAILED,
    ErrorCode.INPUT_CHANGED,
    # Tested above, as it needs somebody who cancels.
    ErrorCode.CANCELLED,
}


def test_every_code_that_a_guest_can_cause_is_the_ending_of_some_attack() -> None:
    assert set(ErrorCode) - CAUSED_ELSEWHERE <= {attack.code for attack in ATTACKS}
