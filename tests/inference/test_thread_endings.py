"""An inference thread whose model loads, does not load or breaks, and that is stopped: everybody is answered."""

import dataclasses
import threading

import pytest

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.outcome import Finished
from cuttlebone.generation.state import Phase
from cuttlebone.inference.model import Model
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import DEATHS_MAX, InferenceThread
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode
from inference.conftest import BOUND_S, STORY, ask, collect, failure, serving, wait_until_decoding


def submit_until_refused(thread: InferenceThread) -> None:
    """Submit again and again; what is accepted meanwhile has to be answered."""
    while True:
        failure(thread.submit(ask()))


def test_a_thread_that_breaks_fails_its_generations_and_serves_again() -> None:
    models: list[ScriptedModel] = []

    def load(_report: Report) -> Model:
        models.append(ScriptedModel(STORY))
        return models[-1]

    thread = InferenceThread(load)
    thread.start()
    collect(thread.submit(ask()))
    models[0].break_down(RuntimeError("a bug"))
    assert failure(thread.submit(ask())).code is ErrorCode.INFER_FAILED
    assert isinstance(collect(thread.submit(ask("story")))[1], Finished)
    assert models[0].closed
    thread.stop()


def test_a_thread_that_breaks_again_and_again_is_given_up_with_a_reason() -> None:
    def load(_report: Report) -> Model:
        model = ScriptedModel()
        model.break_down(RuntimeError("a bug"))
        return model

    thread = InferenceThread(load)
    thread.start()
    for _ in range(DEATHS_MAX):
        assert failure(thread.submit(ask())).code is ErrorCode.INFER_FAILED
    with pytest.raises(CommandError) as refusal:
        submit_until_refused(thread)
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
    assert thread.state.phase is Phase.FAILED
    assert "a bug" in thread.state.reason
    thread.stop()


def test_a_model_that_cannot_be_loaded_fails_what_waits_and_refuses_what_comes() -> None:
    def load(_report: Report) -> Model:
        raise OperatorError("no such file")

    thread = InferenceThread(load)
    waiting = thread.submit(ask())
    thread.start()
    assert failure(waiting).code is ErrorCode.MODEL_LOAD_FAILED
    with pytest.raises(CommandError, match="no such file") as refusal:
        thread.submit(ask())
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
    assert thread.state.phase is Phase.FAILED
    thread.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_ends_the_thread_nobody_waits_for_it() -> None:
    def load(_report: Report) -> Model:
        raise SystemExit

    thread = InferenceThread(load)
    waiting = thread.submit(ask())
    thread.start()
    assert failure(waiting).code is ErrorCode.MODEL_LOAD_FAILED
    with pytest.raises(CommandError, match="its thread ended"):
        thread.counter(BOUND_S)
    thread.stop()


def test_what_was_submitted_while_loading_is_served_or_refused_once_the_model_is_there() -> None:
    thread = InferenceThread(lambda _report: ScriptedModel(STORY, context_tokens=100))
    fits, too_long = thread.submit(ask("story")), thread.submit(ask("x" * 200))
    assert (fits.admitted, thread.state.phase) == (False, Phase.LOADING)
    thread.start()
    assert isinstance(collect(fits)[1], Finished)
    assert failure(too_long).code is ErrorCode.CONTEXT_OVERFLOW
    thread.stop()


def test_a_generation_that_waits_for_loading_is_cancelled_at_once() -> None:
    may_load = threading.Event()

    def load(_report: Report) -> Model:
        assert may_load.wait(BOUND_S)
        return ScriptedModel()

    thread = InferenceThread(load)
    thread.start()
    generation = thread.submit(ask())
    generation.cancel()
    outcome = failure(generation)
    assert (outcome.code, outcome.tokens_in, outcome.tokens_out) == (ErrorCode.CANCELLED, 0, 0)
    may_load.set()
    assert isinstance(collect(thread.submit(ask()))[1], Finished)
    thread.stop()


def test_stopping_answers_everything_that_was_accepted() -> None:
    model = ScriptedModel(STORY, context_tokens=64, cells=64)
    with serving(model) as thread:
        collect(thread.submit(ask(max_tokens=1)))
        model.hold()
        generations = [
            thread.submit(dataclasses.replace(ask("story", job=str(job)), asks_verdict=True))
            for job in range(4)
        ]
        wait_until_decoding(model)
        stopper = threading.Thread(target=thread.stop)
        stopper.start()
        model.release()
        assert {failure(generation).code for generation in generations} == {ErrorCode.CANCELLED}
        stopper.join(BOUND_S)
    assert thread.state.phase is Phase.STOPPED
    assert model.closed
    with pytest.raises(CommandError):
        thread.submit(ask())


def test_stopping_a_thread_that_never_started_answers_too() -> None:
    thread = InferenceThread(lambda _report: ScriptedModel())
    generation = thread.submit(ask())
    thread.stop()
    assert failure(generation).code is ErrorCode.CANCELLED
