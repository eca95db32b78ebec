"""How far a load is, and how it ends when nobody wants the model any more."""

import threading
from pathlib import Path

import pytest

from cuttlebone.inference.llama import LlamaOptions
from cuttlebone.inference.llama.loading import open_model, sha256_of
from cuttlebone.inference.llama.trial import try_out
from cuttlebone.inference.model import Model
from cuttlebone.inference.progress import LoadAborted, Phase, Report, State, go_on
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import FakeModel
from cuttlebone_abi import ErrorCode
from inference.conftest import BOUND_S, ask, collect, failure

SMALL = LlamaOptions(context_tokens_max=64, threads=1)


def test_a_load_shows_how_far_it_is() -> None:
    halfway, may_load = threading.Event(), threading.Event()

    def load(report: Report) -> Model:
        assert report(0.5)
        halfway.set()
        assert may_load.wait(BOUND_S)
        return FakeModel()

    thread = InferenceThread(load)
    before = thread.state
    thread.start()
    assert halfway.wait(BOUND_S)
    during = thread.state
    may_load.set()
    after = thread.wait_until_settled(BOUND_S)
    thread.stop()
    assert [before, during, after] == [
        State(Phase.LOADING, progress=0.0),
        State(Phase.LOADING, progress=0.5),
        State(Phase.READY),
    ]


def test_stopping_aborts_a_load_at_its_next_report() -> None:
    begun = threading.Event()

    def load(report: Report) -> Model:
        while True:
            go_on(report, 0.5)
            begun.set()

    thread = InferenceThread(load)
    thread.start()
    waiting = thread.submit(ask())
    assert begun.wait(BOUND_S)
    thread.stop()
    assert failure(waiting).code is ErrorCode.CANCELLED
    assert thread.state == State(Phase.STOPPED)


def test_a_thread_that_starts_again_after_a_bug_says_so_while_it_loads() -> None:
    again, may_load = threading.Event(), threading.Event()
    models: list[FakeModel] = []

    def load(_report: Report) -> Model:
        if models:
            again.set()
            assert may_load.wait(BOUND_S)
        models.append(FakeModel())
        return models[-1]

    thread = InferenceThread(load)
    thread.start()
    collect(thread.submit(ask()))
    models[0].break_down(RuntimeError("a bug"))
    failure(thread.submit(ask()))
    assert again.wait(BOUND_S)
    state = thread.state
    may_load.set()
    collect(thread.submit(ask()))
    thread.stop()
    assert (state.phase, state.progress) == (Phase.LOADING, 0.0)
    assert "a bug" in state.reason


@pytest.mark.model
def test_a_load_reports_what_part_of_the_weights_is_read(demo_model: Path, trials: Path) -> None:
    told: list[float] = []

    def report(done: float) -> bool:
        told.append(done)
        return True

    open_model(demo_model, SMALL, trials=trials, report=report).close()
    assert (told[0], told[-1]) == (0.0, 1.0)
    assert told == sorted(told)
    assert len({round(done, 1) for done in told}) > 5


@pytest.mark.model
def test_a_load_that_nobody_wants_any_more_ends_where_it_is(demo_model: Path, trials: Path) -> None:
    told: list[float] = []

    def report(done: float) -> bool:
        told.append(done)
        return done < 0.3

    with pytest.raises(LoadAborted):
        open_model(demo_model, SMALL, trials=trials, report=report)
    assert 0.3 <= told[-1] < 0.6


@pytest.mark.model
def test_a_fault_in_a_report_comes_out_of_the_load(demo_model: Path, trials: Path) -> None:
    def report(done: float) -> bool:
        if done > 0:
            raise ZeroDivisionError
        return True

    with pytest.raises(ZeroDivisionError):
        open_model(demo_model, SMALL, trials=trials, report=report)


@pytest.mark.model
def test_a_digest_and_a_trial_that_nobody_wants_any_more_end_too(demo_model: Path) -> None:
    with pytest.raises(LoadAborted):
        sha256_of(demo_model, lambda _done: False)
    looks = iter([True, False])
    with pytest.raises(LoadAborted):
        try_out(demo_model, SMALL, lambda _done: next(looks))
