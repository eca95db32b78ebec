"""`infer_many` and `count_tokens` over a real inference thread with a scripted model."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds import scaled
from commands.deaf import Deaf
from cuttlebone.commands.budget import Budget
from cuttlebone.commands.infer_many import REQUESTS_MAX, shared_out
from cuttlebone.commands.scope import JobScope
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.errors import JobError
from cuttlebone.execution.runner import run_job
from cuttlebone.files import Grants
from cuttlebone.generation.state import Phase, State
from cuttlebone.job_options import Limits
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, ScriptedEndpoint, ScriptedGuest, ScriptedModel
from cuttlebone_abi import Cancelled, Completed, Envelope, ErrorCode, Failed, Json, Signature
from job_scopes import granted

BOUND_S = scaled(20.0)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel({"count": "one two three", "story": "once " * 30}, context_tokens=200)


@pytest.fixture
def endpoint(model: ScriptedModel) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(lambda _report: model) as serving:
        serving.counter(BOUND_S)
        yield serving
        model.release()


def scope(endpoint: Endpoint, grants: Grants, *, may_infer: bool = True, **limits: int) -> JobScope:
    return JobScope(
        job="a-job",
        tenant="local",
        grants=grants,
        model=granted("small", endpoint) if may_infer else None,
        events=Deaf(),
        budget=Budget(Limits(**limits)),
    )


def run(command: dict[str, Any], scope: JobScope) -> tuple[dict[str, Any], Envelope]:
    """Run one command as a job; answer its event, if there was one, and the envelope."""
    events: list[dict[str, Any]] = [{}]

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        events.append((yield command))
        yield {"cmd": "done", "result": None}

    guest = ScriptedGuest(script, on_token=lambda _piece: True)
    envelope = run_job(guest, scope, IoSchemas(Signature()), b"null")
    return events[-1], envelope


def many(*prompts: str, max_tokens: int = 20) -> dict[str, Any]:
    requests = [{"prompt": prompt, "max_tokens": max_tokens} for prompt in prompts]
    return {"cmd": "infer_many", "requests": requests}


def test_results_come_in_the_order_of_the_requests(endpoint: LocalEndpoint, grants: Grants) -> None:
    event, envelope = run(many("count", "anything", "count again"), scope(endpoint, grants))

    assert [result["text"] for result in event["results"]] == [
        "one two three",
        "ok",
        "one two three",
    ]
    assert isinstance(envelope, Completed)
    assert envelope.usage.tokens_in == sum(result["tokens_in"] for result in event["results"])
    assert envelope.usage.tokens_out == sum(result["tokens_out"] for result in event["results"])


def test_a_field_that_is_not_served_is_refused_by_name_for_its_request_alone(
    endpoint: LocalEndpoint, grants: Grants
) -> None:
    sees = {"prompt": "x", "max_tokens": 1, "images": [1]}
    reads = {"prompt": "count", "max_tokens": 20}
    event, _ = run({"cmd": "infer_many", "requests": [sees, reads]}, scope(endpoint, grants))

    refused, served = event["results"]
    assert refused["error"]["code"] == ErrorCode.UNSUPPORTED
    assert "`images`" in refused["error"]["message"]
    assert served["text"] == "one two three"


def test_what_the_prompts_begin_with_is_evaluated_once(
    endpoint: LocalEndpoint, grants: Grants, model: ScriptedModel
) -> None:
    common = "answer with care, " * 5
    event, _ = run(many(*(f"{common}{number}" for number in range(6))), scope(endpoint, grants))

    assert all(result["tokens_cached"] >= len(common) for result in event["results"][1:])
    assert sum(len(run.tokens) for batch in model.batches for run in batch) < 2 * len(common)


def test_each_request_has_a_seed_of_its_own_that_a_replay_derives_again(
    endpoint: LocalEndpoint, grants: Grants
) -> None:
    seeds = [
        [result["seed"] for result in run(many("a", "b"), scope(endpoint, grants))[0]["results"]]
        for _ in range(2)
    ]

    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 2


def test_a_request_that_fails_leaves_the_others_alone(
    endpoint: LocalEndpoint, grants: Grants
) -> None:
    event, envelope = run(many("count", "x" * 300), scope(endpoint, grants))

    assert event["results"][0]["text"] == "one two three"
    assert event["results"][1]["error"]["code"] == ErrorCode.CONTEXT_OVERFLOW
    assert isinstance(envelope, Completed)


def test_a_backend_that_breaks_fails_its_request_only(
    endpoint: LocalEndpoint, grants: Grants, model: ScriptedModel
) -> None:
    model.fail_on("poison")
    event, _ = run(many("poison", "count"), scope(endpoint, grants))

    assert event["results"][0]["error"]["code"] == ErrorCode.INFER_FAILED
    assert event["results"][1]["text"] == "one two three"


def test_no_request_has_no_result(endpoint: LocalEndpoint, grants: Grants) -> None:
    assert run(many(), scope(endpoint, grants))[0]["results"] == []


def test_too_many_requests_are_refused_before_any(endpoint: LocalEndpoint, grants: Grants) -> None:
    _, envelope = run(many(*["count"] * (REQUESTS_MAX + 1)), scope(endpoint, grants))

    assert isinstance(envelope, Failed)
    assert envelope.error.code == ErrorCode.INVALID_ARGUMENT
    assert envelope.usage.tokens_in == 0


def test_requests_count_as_generations_of_the_job(endpoint: LocalEndpoint, grants: Grants) -> None:
    event, _ = run(many("count", "count", "count"), scope(endpoint, grants, infer_calls=2))

    assert [result.get("error", {}).get("code") for result in event["results"]] == [
        None,
        None,
        ErrorCode.LIMIT_EXCEEDED,
    ]


def test_the_jobs_tokens_bound_all_requests_together(
    endpoint: LocalEndpoint, grants: Grants
) -> None:
    job = scope(endpoint, grants, tokens_out=40)
    event, envelope = run(many("story", "count", "story", max_tokens=31), job)

    found = [(result["finish"], result["tokens_out"]) for result in event["results"]]
    assert found == [("length", 14), ("eos", 4), ("length", 13)]
    assert isinstance(envelope, Completed)


def test_without_a_token_for_each_the_job_ends(endpoint: LocalEndpoint, grants: Grants) -> None:
    _, envelope = run(many("story", "count", "story"), scope(endpoint, grants, tokens_out=2))

    assert isinstance(envelope, Failed)
    assert envelope.error.code == ErrorCode.LIMIT_EXCEEDED
    assert "tokens_out" in envelope.error.message


@given(st.lists(st.integers(0, 50), max_size=9), st.integers(0, 200))
def test_what_is_left_is_shared_out_whole_and_fairly(wanted: list[int], left: int) -> None:
    shares = shared_out(wanted, left)

    assert sum(shares) == min(left, sum(wanted))
    most = max(shares, default=0)
    assert all(
        share == want or share >= most - 1 for share, want in zip(shares, wanted, strict=True)
    )


def test_a_cancelled_job_ends_all_its_generations(
    endpoint: LocalEndpoint, grants: Grants, model: ScriptedModel
) -> None:
    cancelled = scope(endpoint, grants)
    model.hold()

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield many("story", "story two")

    def cancel_when_held() -> None:
        assert model.held.wait(BOUND_S)
        cancelled.budget.stop(JobError(ErrorCode.CANCELLED, "no longer wanted"))
        model.release()

    canceller = threading.Thread(target=cancel_when_held)
    canceller.start()
    envelope = run_job(ScriptedGuest(script), cancelled, IoSchemas(Signature()), b"null")
    canceller.join(BOUND_S)

    assert isinstance(envelope, Cancelled)


@pytest.mark.parametrize("command", [many("x"), {"cmd": "count_tokens", "text": "x"}])
def test_a_job_without_a_model_may_neither_infer_nor_count(
    endpoint: LocalEndpoint, grants: Grants, command: dict[str, Any]
) -> None:
    _, envelope = run(command, scope(endpoint, grants, may_infer=False))

    assert isinstance(envelope, Failed)
    assert envelope.error.code == ErrorCode.CAPABILITY_DENIED


def test_text_is_counted_without_a_template(endpoint: LocalEndpoint, grants: Grants) -> None:
    event, envelope = run({"cmd": "count_tokens", "text": "héllo"}, scope(endpoint, grants))

    assert event == {"event": "tokens_counted", "tokens": 6, "context": 200}
    assert envelope.usage.tokens_in == 0


def test_messages_are_counted_as_the_prompt_that_they_make(
    endpoint: LocalEndpoint, grants: Grants
) -> None:
    messages = [{"role": "user", "content": "hello"}]
    counted, _ = run({"cmd": "count_tokens", "messages": messages}, scope(endpoint, grants))
    spent, _ = run(
        {"cmd": "infer", "messages": messages, "max_tokens": 1}, quiet(scope(endpoint, grants))
    )

    assert counted["tokens"] == spent["tokens_in"]


def test_a_model_that_cannot_be_loaded_counts_nothing(grants: Grants) -> None:
    broken = ScriptedEndpoint(state=State(Phase.FAILED, "no such file"))
    _, envelope = run({"cmd": "count_tokens", "text": "x"}, scope(broken, grants))

    assert isinstance(envelope, Failed)
    assert envelope.error.code == ErrorCode.MODEL_LOAD_FAILED


class Listening(Deaf):
    """An event sink that takes pieces."""

    def token(self, text: str) -> None:
        """Drop it."""


def quiet(scope: JobScope) -> JobScope:
    """The scope, with watchers that take pieces."""
    scope.events = Listening()
    return scope
