"""`infer` over a real inference thread with a scripted model: text, verdicts, cancels, costs."""

import threading
from typing import Any

import pytest

from bounds import scaled
from commands.infer_bench import Bench, failure
from cuttlebone.commands.infer import generation_request, turns_of
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.errors import JobError
from cuttlebone.generation.request import Turn
from cuttlebone.specs.infer_defaults import InferDefaults, SystemUse
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import (
    Cancelled,
    Completed,
    ErrorCode,
    InferRequest,
    Message,
)

BOUND_S = scaled(20.0)


def test_the_text_comes_with_its_cost(bench: Bench) -> None:
    envelope = bench.run({"prompt": "count"})

    (event,) = bench.events
    assert (event["text"], event["finish"]) == ("one two three four five", "eos")
    assert isinstance(envelope, Completed)
    assert envelope.usage.model == "small"
    assert envelope.usage.tokens_in == event["tokens_in"] > 0
    assert envelope.usage.tokens_out == event["tokens_out"] == 6  # five words and the end
    assert "".join(bench.told.tokens) == event["text"]


def test_an_empty_answer_is_an_answer(bench: Bench) -> None:
    bench.run({"prompt": "silence"})

    assert (bench.events[0]["text"], bench.events[0]["finish"]) == ("", "eos")


def test_a_conversation_may_stand_instead_of_a_prompt(bench: Bench) -> None:
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "count"}]
    bench.run({"messages": turns})

    assert bench.events[0]["text"].startswith("one")


def test_the_guest_ends_a_generation_with_the_piece_it_was_given(bench: Bench) -> None:
    seen: list[str] = []

    def enough(text: str) -> bool:
        seen.append(text)
        return "three" in text

    bench.run({"prompt": "count"}, on_token=enough)

    assert bench.events[0]["finish"] == "guest"
    assert bench.events[0]["text"] == "".join(seen) == "one two three"
    assert bench.events[0]["tokens_out"] == 3


def test_a_stop_string_ends_a_generation_before_it(bench: Bench) -> None:
    bench.run({"prompt": "count", "stop": [" four"]})

    assert (bench.events[0]["text"], bench.events[0]["finish"]) == ("one two three", "stop")


def test_max_tokens_cuts_and_says_so(bench: Bench) -> None:
    bench.run({"prompt": "count", "max_tokens": 2})

    assert (bench.events[0]["text"], bench.events[0]["finish"]) == ("one two", "length")


def test_the_seed_is_derived_from_job_and_step_and_reported(bench: Bench) -> None:
    bench.run({"prompt": "count"}, times=2)
    again = bench.events[0]["seed"]
    bench.run({"prompt": "count"}, bench.scope())

    assert bench.events[2]["seed"] == again != bench.events[1]["seed"]


def test_the_seed_that_the_guest_asks_for_is_used(bench: Bench) -> None:
    bench.run({"prompt": "count", "seed": 7})

    assert bench.events[0]["seed"] == 7


def test_a_cancel_during_a_generation_ends_the_job_and_keeps_its_cost(
    bench: Bench, model: ScriptedModel
) -> None:
    scope = bench.scope()

    def hold_then_cancel() -> None:
        assert model.held.wait(BOUND_S)
        scope.budget.stop(JobError(ErrorCode.CANCELLED, "enough"))

    model.hold()
    canceller = threading.Thread(target=hold_then_cancel)
    canceller.start()
    envelope = bench.run({"prompt": "count"}, scope)
    canceller.join()

    assert isinstance(envelope, Cancelled)
    assert envelope.usage.model == "small"


def test_a_decode_failure_is_infer_failed(bench: Bench, model: ScriptedModel) -> None:
    model.fail_on("two")
    envelope = bench.run({"prompt": "count"})

    assert failure(envelope)[0] == ErrorCode.INFER_FAILED
    assert envelope.usage.tokens_out > 0


def test_a_model_that_goes_away_cancels_the_job_whatever_the_guest_wants(
    bench: Bench, model: ScriptedModel, endpoint: LocalEndpoint
) -> None:
    def stop() -> None:
        assert model.held.wait(BOUND_S)
        model.release()
        endpoint.stop()

    model.hold()
    stopper = threading.Thread(target=stop)
    stopper.start()
    envelope = bench.run({"prompt": "overlong", "max_tokens": 100, "on_error": "event"})
    stopper.join()

    assert isinstance(envelope, Cancelled)


@pytest.mark.parametrize("interactive", [True, False])
def test_the_prompts_of_a_job_that_somebody_waits_for_go_first(
    bench: Bench, *, interactive: bool
) -> None:
    scope = bench.scope()
    scope.interactive = interactive
    assert scope.model is not None

    asked = InferRequest(prompt="count", max_tokens=1)
    request = generation_request(asked, scope, scope.model, tokens_left=1, asks_verdict=False)

    assert request.interactive is interactive


@pytest.mark.parametrize("says_who", ["prompt", "messages"])
def test_the_spec_says_what_stands_before_the_first_turn(bench: Bench, says_who: str) -> None:
    said: Any = {
        "prompt": {"prompt": "hello"},
        "messages": {"messages": [{"role": "user", "content": "hello"}]},
    }[says_who]
    system = SystemUse(use="text", text="count")
    bench.run(said, bench.scope(defaults=InferDefaults(system=system)))

    assert bench.events[0]["tokens_in"] > len("hello") + len("count")


@pytest.mark.parametrize("use", ["template", "none", "text"])
def test_a_system_message_of_the_block_goes_before_that_of_the_spec(use: str) -> None:
    defaults = InferDefaults.model_validate(
        {"system": {"use": use, **({"text": "mine"} if use == "text" else {})}}
    )
    messages = [Message(role="system", content="own"), Message(role="user", content="hello")]

    assert turns_of(messages, defaults) == (Turn("system", "own"), Turn("user", "hello"))
