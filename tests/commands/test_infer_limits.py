"""What an `infer` is refused for, and the limits of a job that end it."""

from typing import Any

import pytest

from commands.infer_bench import Bench, failure
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone_abi import ErrorCode

U32_MAX = (1 << 32) - 1


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ({"prompt": "x", "max_tokens": 0}, ErrorCode.INVALID_ARGUMENT, "at least 1"),
        ({"prompt": "x" * 200}, ErrorCode.CONTEXT_OVERFLOW, "200"),
        ({"prompt": "x", "images": [1]}, ErrorCode.UNSUPPORTED, "`images`"),
        ({"prompt": "x", "temperature": -1}, ErrorCode.WASM_TRAP, "$.temperature"),
        ({"messages": []}, ErrorCode.WASM_TRAP, "either `prompt` or `messages`"),
    ],
)
def test_what_cannot_be_generated_is_refused_at_no_cost(
    bench: Bench, command: dict[str, Any], code: ErrorCode, said: str
) -> None:
    envelope = bench.run(command)

    assert failure(envelope)[0] == code
    assert said in failure(envelope)[1]
    assert (envelope.usage.tokens_in, envelope.usage.tokens_out) == (0, 0)


def test_a_refusal_may_be_an_event(bench: Bench) -> None:
    bench.run({"prompt": "x" * 200, "on_error": "event"})

    assert bench.events[0]["code"] == "context_overflow"


def test_infer_calls_are_limited(bench: Bench) -> None:
    code, message = failure(bench.run({"prompt": "count"}, bench.scope(infer_calls=2), times=3))

    assert (code, message.startswith("infer_calls: ")) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_generated_tokens_are_limited_over_all_generations(bench: Bench) -> None:
    envelope = bench.run({"prompt": "count"}, bench.scope(tokens_out=9), times=3)

    assert failure(envelope)[0] == ErrorCode.LIMIT_EXCEEDED
    assert failure(envelope)[1].startswith("tokens_out: ")
    assert envelope.usage.tokens_out == 9


def test_a_generation_that_fits_into_what_is_left_is_not_disturbed(bench: Bench) -> None:
    assert bench.run({"prompt": "count"}, bench.scope(tokens_out=6)).status == "completed"


@pytest.mark.parametrize(
    ("prompt", "limits", "allowed", "tokens_out"),
    [
        ("count", {"tokens_out": 3}, 1024, 3),
        ("count", {}, 2, 2),
        ("x" * 196, {}, 1024, 1),
    ],
    ids=["of the job", "of the spec", "of the context"],
)
def test_max_tokens_is_lowered_to_the_room(
    bench: Bench, prompt: str, limits: dict[str, int], allowed: int, tokens_out: int
) -> None:
    scope = bench.scope(defaults=InferDefaults(max_tokens_max=allowed), **limits)
    envelope = bench.run({"prompt": prompt, "max_tokens": U32_MAX}, scope)

    assert envelope.status == "completed"
    assert (bench.events[0]["finish"], envelope.usage.tokens_out) == ("length", tokens_out)


def test_without_a_token_left_the_next_infer_ends_the_job_even_if_the_guest_wants_an_event(
    bench: Bench,
) -> None:
    command = {"prompt": "count", "on_error": "event"}
    envelope = bench.run(command, bench.scope(tokens_out=3), times=2)

    assert failure(envelope)[0] == ErrorCode.LIMIT_EXCEEDED
    assert bench.events[0]["finish"] == "length"


def test_prompt_tokens_are_limited_over_all_generations(bench: Bench) -> None:
    bench.run({"prompt": "count"})
    once = bench.events[0]["tokens_in"]
    envelope = bench.run({"prompt": "count"}, bench.scope(tokens_in=once + 1), times=2)

    assert failure(envelope)[1].startswith("tokens_in: ")


def test_a_schema_and_a_grammar_together_are_refused(bench: Bench) -> None:
    envelope = bench.run({"prompt": "count", "json_schema": {}, "grammar": 'start: "a"'})

    assert failure(envelope)[0] == ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize("field", [{"json_schema": {"type": "strange"}}, {"grammar": "(" * 2000}])
def test_a_constraint_that_cannot_be_kept_costs_nothing(
    bench: Bench, field: dict[str, Any]
) -> None:
    envelope = bench.run({"prompt": "count", **field})

    assert failure(envelope)[0] == ErrorCode.INVALID_GRAMMAR
    assert envelope.usage.tokens_in == 0
