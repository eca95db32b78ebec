"""Whose turn it is: nobody's first generation waits for more than one of each other tenant."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cuttlebone.inference.model import Token
from cuttlebone.inference.turns import (
    AdmissionTurns,
    Demand,
    PromptTurns,
    SequenceId,
    prompt_weight,
)

TENANTS = st.sampled_from("abcd")
JOBS = st.sampled_from("xyz")


def demand(tenant: str = "a", job: str = "x", *, interactive: bool = False) -> Demand:
    """A demand of a job; how large it is does not matter here."""
    return Demand(job, tenant, interactive, (Token(1),), 1)


def admitted(turns: AdmissionTurns, places: int) -> list[SequenceId]:
    """Give so many places away."""
    given = []
    for _ in range(places):
        first = turns.first()
        assert first is not None
        turns.admitted(first[1])
        given.append(first[0])
    return given


def waiting(*demands: Demand) -> AdmissionTurns:
    """Turns in which these wait, in their order, with the numbers 1, 2, 3 and so on."""
    turns = AdmissionTurns()
    for number, wanted in enumerate(demands, start=1):
        turns.wait(SequenceId(number), wanted)
    return turns


def test_a_tenant_with_fewer_places_comes_first_however_many_jobs_another_has() -> None:
    turns = waiting(demand("a", "x"), demand("a", "y"), demand("a", "z"), demand("b", "x"))
    assert admitted(turns, 4) == [1, 4, 2, 3]


def test_jobs_of_a_tenant_take_turns_however_many_generations_each_has() -> None:
    turns = waiting(*[demand(job="many")] * 3, demand(job="one"))
    assert admitted(turns, 4) == [1, 4, 2, 3]


def test_interactive_generations_go_before_those_of_the_same_tenant_alone() -> None:
    turns = waiting(demand("b"), demand("a", "x"), demand("a", "y", interactive=True))
    assert admitted(turns, 3) == [1, 3, 2]


def test_jobs_of_two_tenants_with_the_same_id_are_two() -> None:
    turns = waiting(demand("a"), demand("b"), demand("b", "y"), demand("b"))
    assert admitted(turns, 4) == [1, 2, 3, 4]


def test_who_waits_no_longer_is_passed_over() -> None:
    turns = waiting(demand("a"), demand("b"), demand("a"))
    turns.forget(SequenceId(1))
    assert (turns.waiting, admitted(turns, 2)) == (2, [3, 2])
    assert turns.first() is None


class Fairness(RuleBasedStateMachine):
    """Any mix of tenants, jobs and ends, told which tenants wait for their first place."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = AdmissionTurns()
        self.numbers = count(1)
        self.waiting: dict[SequenceId, Demand] = {}
        self.running: list[Demand] = []
        self.overtaken: dict[str, list[str]] = {}

    @rule(tenant=TENANTS, job=JOBS, interactive=st.booleans(), generations=st.integers(1, 6))
    def submit(self, tenant: str, job: str, *, interactive: bool, generations: int) -> None:
        for _ in range(generations):
            key = SequenceId(next(self.numbers))
            self.waiting[key] = demand(tenant, job, interactive=interactive)
            self.turns.wait(key, self.waiting[key])
        if not any(one.tenant == tenant for one in self.running):
            self.overtaken.setdefault(tenant, [])

    @precondition(lambda self: self.waiting)
    @rule()
    def admit(self) -> None:
        first = self.turns.first()
        assert first is not None
        key, wanted = first
        self.turns.admitted(wanted)
        assert self.waiting.pop(key) == wanted
        self.running.append(wanted)
        self.overtaken.pop(wanted.tenant, None)
        for others in self.overtaken.values():
            others.append(wanted.tenant)
            assert len(others) == len(set(others))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        ended = data.draw(st.sampled_from(self.running))
        self.running.remove(ended)
        self.turns.ended(ended)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.waiting)))
        tenant = self.waiting.pop(key).tenant
        self.turns.forget(key)
        if not any(one.tenant == tenant for one in self.waiting.values()):
            self.overtaken.pop(tenant, None)

    def teardown(self) -> None:
        """Everybody that waits has a turn."""
        assert self.turns.waiting == len(self.waiting)
        assert sorted(admitted(self.turns, len(self.waiting))) == sorted(self.waiting)


def test_nobodys_first_generation_waits_for_two_of_another_tenant() -> None:
    often = settings(max_examples=100, stateful_step_count=50, deadline=None)
    run_state_machine_as_test(Fairness, settings=often)


def test_prompts_of_a_tenant_with_many_jobs_have_half_the_batches_beside_one_of_another() -> None:
    turns = PromptTurns()
    prompts = [demand("a", "x"), demand("a", "y"), demand("b", "z")]
    served = []
    for _ in range(6):
        turns.begin_batch()
        first = min(prompts, key=lambda one: turns.rank(one, urgent=False))
        turns.served(first)
        served.append((first.tenant, first.job))
    assert served == [("a", "x"), ("b", "z"), ("a", "y"), ("b", "z"), ("a", "x"), ("b", "z")]


def test_an_urgent_prompt_goes_before_its_tenants_others_and_takes_turns_with_strangers() -> None:
    turns = PromptTurns()
    turns.begin_batch()
    turns.served(demand("a", "x"))
    ranked = sorted(
        [("batch", "a", False), ("urgent", "a", True), ("stranger", "b", False)],
        key=lambda one: turns.rank(demand(one[1]), urgent=one[2]),
    )
    assert [name for name, *_ in ranked] == ["stranger", "urgent", "batch"]


def test_who_has_nothing_running_is_forgotten() -> None:
    turns = PromptTurns()
    turns.begin_batch()
    for one in (demand("a"), demand("b")):
        turns.served(one)
    turns.keep([demand("b")])
    assert turns.rank(demand("a"), urgent=False) < turns.rank(demand("b"), urgent=False)


@given(st.integers(1, 300), st.integers(1, 300))
def test_one_prompt_weighs_as_much_as_all_that_another_tenant_generates(
    prompting: int, generating: int
) -> None:
    prompts = [demand("b", str(number)) for number in range(prompting)]
    assert prompt_weight(prompts, [demand("a")] * generating) == pytest.approx(generating)


@given(st.integers(1, 64), st.integers(1, 64))
def test_generations_of_one_job_each_weigh_the_same(prompting: int, generating: int) -> None:
    jobs = [demand(job=str(number)) for number in range(prompting + generating)]
    assert prompt_weight(jobs[:prompting], jobs[prompting:]) == pytest.approx(prompting)


def test_prompts_alone_weigh_what_they_are() -> None:
    assert prompt_weight([demand()] * 3, []) == 3
