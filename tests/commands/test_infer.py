"""`infer` over a real inference thread with a scripted model: text, verdicts, limits, cancels, costs."""

import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.infer import generation_request
from cuttlebone.commands.scope import InferDefaults, Model, Scope
from cuttlebone.errors import JobError
from cuttlebone.files import Grants, HandleTable
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.jobs.runner import run_job
from cuttlebone.jobs.shapes import Shapes
from cuttlebone.settings import Limits
from cuttlebone.testing import FakeModel, ScriptedGuest
from cuttlebone_abi import (
    Cancelled,
    Completed,
    Envelope,
    ErrorCode,
    Failed,
    InferRequest,
    Json,
    Signature,
)

Commands = Generator[Json | bytes, dict[str, Any], None]
BOUND_S = 20.0


class Told:
    """An event sink that remembers pieces."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def progress(self, value: Json) -> None:
        raise AssertionError(f"nobody emits here, but {value} came")

    def token(self, text: str) -> None:
        self.tokens.append(text)

    def waiting(self, cause: str) -> None:
        """Drop it: the model of these tests may still be loading."""


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(
        {"count": "one two three four five", "silence": "", "overlong": "a " * 50},
        context_tokens=200,
    )


@pytest.fixture
def thread(model: FakeModel) -> Iterator[InferenceThread]:
    serving = InferenceThread(lambda _report: model)
    serving.start()
    yield serving
    model.release()
    serving.stop()


class Bench:
    """Runs one `infer` as a job."""

    def __init__(self, thread: InferenceThread, grants: Grants) -> None:
        self._thread = thread
        self._grants = grants
        self.told = Told()
        self.events: list[dict[str, Any]] = []

    def scope(self, *, defaults: InferDefaults | None = None, **limits: int) -> Scope:
        return Scope(
            job="a-job",
            tenant="local",
            files=HandleTable(self._grants, handles_max=1, window_bytes_max=4),
            model=Model("small", self._thread, defaults or InferDefaults()),
            events=self.told,
            budget=Budget(Limits(**limits)),
        )

    def run(
        self,
        command: dict[str, Any],
        scope: Scope | None = None,
        *,
        times: int = 1,
        on_token: Callable[[str], bool] | None = None,
    ) -> Envelope:
        def script(_guest: ScriptedGuest, _value: Json) -> Commands:
            for _ in range(times):
                self.events.append((yield {"cmd": "infer", "max_tokens": 20, **command}))
            yield {"cmd": "done", "result": None}

        guest = ScriptedGuest(script, on_token=on_token)
        return run_job(guest, scope or self.scope(), Shapes(Signature()), None)


@pytest.fixture
def bench(thread: InferenceThread, tmp_path: Path) -> Iterator[Bench]:
    with Grants.resolve(tmp_path, []) as grants:
        yield Bench(thread, grants)


def failure(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed)
    return envelope.error.code, envelope.error.message


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


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ({"prompt": "x", "max_tokens": 0}, ErrorCode.INVALID_ARGUMENT, "at least 1"),
        ({"prompt": "x", "max_tokens": 2000}, ErrorCode.INVALID_ARGUMENT, "at most 1024"),
        ({"prompt": "x" * 190}, ErrorCode.CONTEXT_OVERFLOW, "200"),
        ({"prompt": "x", "images": [1]}, ErrorCode.UNSUPPORTED, "`images`"),
        ({"prompt": "x", "temperature": -1}, ErrorCode.WASM_TRAP, "$.temperature"),
        ({"messages": []}, ErrorCode.INVALID_ARGUMENT, "message"),
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
    bench.run({"prompt": "x" * 190, "on_error": "event"})

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


def test_a_limit_of_tokens_ends_the_job_even_if_the_guest_wants_an_event(bench: Bench) -> None:
    command = {"prompt": "count", "on_error": "event"}

    assert bench.run(command, bench.scope(tokens_out=3)).status == "failed"


def test_prompt_tokens_are_limited_over_all_generations(bench: Bench) -> None:
    bench.run({"prompt": "count"})
    once = bench.events[0]["tokens_in"]
    envelope = bench.run({"prompt": "count"}, bench.scope(tokens_in=once + 1), times=2)

    assert failure(envelope)[1].startswith("tokens_in: ")


def test_a_cancel_during_a_generation_ends_the_job_and_keeps_its_cost(
    bench: Bench, model: FakeModel
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


def test_a_decode_failure_is_infer_failed(bench: Bench, model: FakeModel) -> None:
    model.fail_on("two")
    envelope = bench.run({"prompt": "count"})

    assert failure(envelope)[0] == ErrorCode.INFER_FAILED
    assert envelope.usage.tokens_out > 0


def test_a_model_that_goes_away_cancels_the_job_whatever_the_guest_wants(
    bench: Bench, model: FakeModel, thread: InferenceThread
) -> None:
    def stop() -> None:
        assert model.held.wait(BOUND_S)
        model.release()
        thread.stop()

    model.hold()
    stopper = threading.Thread(target=stop)
    stopper.start()
    envelope = bench.run({"prompt": "overlong", "max_tokens": 100, "on_error": "event"})
    stopper.join()

    assert isinstance(envelope, Cancelled)


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


@pytest.mark.parametrize("interactive", [True, False])
def test_the_prompts_of_a_job_that_somebody_waits_for_go_first(
    bench: Bench,
    interactive: bool,  # noqa: FBT001
) -> None:
    scope = bench.scope()
    scope.interactive = interactive
    assert scope.model is not None

    asked = InferRequest(prompt="count", max_tokens=1)
    request = generation_request(asked, scope, scope.model, asks_verdict=False)

    assert request.interactive is interactive
