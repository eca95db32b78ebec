"""What `infer_many` keeps of its generations while others are under way, and what it takes over."""

import pytest

from commands.by_hand import (
    BROKEN,
    TOKENS_IN,
    TOKENS_OUT,
    Kept,
    by_hand,
    finished,
    prompts,
    result,
)
from commands.deaf import Deaf
from cuttlebone.commands.budget import Budget
from cuttlebone.commands.infer_many import carry_out_infer_many
from cuttlebone.commands.scope import JobScope
from cuttlebone.errors import CommandError, JobError
from cuttlebone.files import Grants
from cuttlebone.job_options import Limits
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import (
    ErrorCode,
    InferFault,
    InferMany,
    InferManyDone,
    InferRequest,
)
from job_scopes import granted


def scope(endpoint: ScriptedEndpoint, grants: Grants, **limits: int) -> JobScope:
    return JobScope(
        job="a-job",
        tenant="local",
        grants=grants,
        model=granted("small", endpoint),
        events=Deaf(),
        budget=Budget(Limits(**limits)),
    )


def many(*prompts: str, max_tokens: int = 20) -> InferMany:
    requests = [InferRequest(prompt=prompt, max_tokens=max_tokens) for prompt in prompts]
    return InferMany(cmd="infer_many", requests=tuple(requests))


def said(done: InferManyDone) -> list[str]:
    return [one.error.code if isinstance(one, InferFault) else one.text for one in done.results]


def test_each_is_kept_when_it_ends_and_the_last_with_the_whole(grants: Grants) -> None:
    model = by_hand({"c": finished("C")})
    after = {2: "a", 0: "b"}
    parts = Kept(then=lambda number: model.end(after[number], finished(after[number].upper())))
    done = carry_out_infer_many(many("a", "b", "c"), scope(model, grants), parts)

    assert parts.kept == [(2, "C"), (0, "A")]
    assert said(done) == ["A", "B", "C"]


def test_what_ends_together_with_the_last_is_kept_with_the_whole(grants: Grants) -> None:
    parts = Kept()
    model = by_hand({"a": finished("A"), "b": finished("B")})
    carry_out_infer_many(many("a", "b"), scope(model, grants), parts)

    assert parts.kept == []


def test_a_fault_is_not_kept(grants: Grants) -> None:
    model = by_hand({"a": BROKEN, "b": finished("B")})
    parts = Kept(then=lambda _number: model.end("c", finished("C")))
    done = carry_out_infer_many(many("a", "b", "c"), scope(model, grants), parts)

    assert parts.kept == [(1, "B")]
    assert said(done) == ["infer_failed", "B", "C"]


def test_what_is_recalled_is_not_submitted_but_counted_and_in_its_place(grants: Grants) -> None:
    model = by_hand({"a": finished("A"), "c": finished("C")})
    job = scope(model, grants, infer_calls=3)
    done = carry_out_infer_many(many("a", "b", "c"), job, Kept({1: result("B")}))

    assert prompts(model.requests) == ["a", "c"]
    assert said(done) == ["A", "B", "C"]
    assert (job.budget.tokens_in, job.budget.tokens_out) == (3 * TOKENS_IN, 3 * TOKENS_OUT)
    with pytest.raises(CommandError, match="infer_calls"):
        job.budget.spend_infer_call()


def test_where_all_are_recalled_the_model_is_not_asked_but_named(grants: Grants) -> None:
    model = by_hand()
    job = scope(model, grants)
    done = carry_out_infer_many(many("a", "b"), job, Kept({1: result("B"), 0: result("A")}))

    assert prompts(model.requests) == []
    assert said(done) == ["A", "B"]
    assert job.account.served_by == "small"


def test_recalled_generations_count_against_infer_calls(grants: Grants) -> None:
    model = by_hand({"a": finished("A")})
    job = scope(model, grants, infer_calls=1)
    done = carry_out_infer_many(many("a", "b"), job, Kept({1: result("B")}))

    assert said(done) == ["limit_exceeded", "B"]


def test_recalled_tokens_count_against_the_limits_of_the_job(grants: Grants) -> None:
    job = scope(by_hand({"a": finished("A")}), grants, tokens_in=2 * TOKENS_IN - 1)
    with pytest.raises(JobError, match="tokens_in") as caught:
        carry_out_infer_many(many("a", "b", max_tokens=3), job, Kept({1: result("B")}))

    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED
    assert (job.budget.tokens_in, job.budget.tokens_out) == (2 * TOKENS_IN, 2 * TOKENS_OUT)


def test_what_the_rest_may_spend_is_what_it_was_in_the_first_attempt(grants: Grants) -> None:
    model = by_hand({"a": finished("A")})
    job = scope(model, grants, tokens_out=20)
    carry_out_infer_many(many("a", "b"), job, Kept({1: result("B", tokens_out=17)}))

    assert [request.max_tokens for request in model.requests] == [10]


def test_a_job_that_is_stopped_keeps_what_has_ended_and_cancels_the_rest(grants: Grants) -> None:
    model = by_hand({"b": finished("B")})
    job = scope(model, grants)

    def stop(_number: int) -> None:
        job.budget.stop(JobError(ErrorCode.CANCELLED, "the host stops"))

    parts = Kept(then=stop)
    with pytest.raises(JobError, match="the host stops"):
        carry_out_infer_many(many("a", "b", "c"), job, parts)

    assert parts.kept == [(1, "B")]
    assert prompts(model.cancelled) == ["a", "c"]
    assert job.budget.tokens_out == TOKENS_OUT
