"""Models load on demand, once, and the least recently used makes room; one in use never does."""

import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cuttlebone.endpoints.local import ResidentModels, ServedModel
from cuttlebone.endpoints.memory import ModelMemory
from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import FailedGeneration, Finished, Piece
from cuttlebone.inference.progress import Phase
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import FakeModel
from cuttlebone_abi import ErrorCode
from inference.conftest import BOUND_S, ask, collect


class Models:
    """Three roles of size 1 each, and which of their models were loaded, in order."""

    def __init__(self, bytes_max: int) -> None:
        self.loaded: list[str] = []
        self.models: dict[str, FakeModel] = {}
        self.budget = ModelMemory(bytes_max)
        self.resident = ResidentModels(
            {role: ServedModel(Path(role), self._thread(role)) for role in ("a", "b", "c")},
            self.budget,
        )

    def ask(self, role: str) -> None:
        """Have one generation of the role."""
        assert isinstance(collect(self.thread(role).submit(ask()))[1], Finished)

    def thread(self, role: str) -> InferenceThread:
        """The thread of a role."""
        return self.resident.models[role].thread

    def _thread(self, role: str) -> InferenceThread:
        return InferenceThread(
            lambda _report: self.budget.load(role, lambda: 1, partial(self._load, role)),
            name=role,
            on_demand=True,
            closed=partial(self.budget.release, role),
        )

    def _load(self, role: str) -> FakeModel:
        self.loaded.append(role)
        self.models[role] = FakeModel({"story": "once upon a time"})
        return self.models[role]


@pytest.fixture
def serve(request: pytest.FixtureRequest) -> Callable[[int], Models]:
    def make(bytes_max: int) -> Models:
        models = Models(bytes_max)
        models.resident.start()
        request.addfinalizer(models.resident.stop)
        return models

    return make


def test_nothing_is_loaded_before_it_is_asked_for(serve: Callable[[int], Models]) -> None:
    models = serve(3)
    assert models.thread("a").state.phase is Phase.UNLOADED
    models.ask("a")
    assert models.loaded == ["a"]
    assert models.thread("a").state.phase is Phase.READY


def test_a_model_is_loaded_once_for_all_who_ask(serve: Callable[[int], Models]) -> None:
    models = serve(3)
    generations = [models.thread("a").submit(ask(job=str(job))) for job in range(5)]
    for generation in generations:
        assert isinstance(collect(generation)[1], Finished)
    assert models.loaded == ["a"]


def test_the_least_recently_used_makes_room(serve: Callable[[int], Models]) -> None:
    models = serve(2)
    for role in ("a", "b", "a", "c"):
        models.ask(role)
    assert models.loaded == ["a", "b", "c"]
    assert models.models["b"].closed
    assert not models.models["a"].closed


def test_an_unloaded_model_comes_back_when_it_is_asked_for(
    serve: Callable[[int], Models],
) -> None:
    models = serve(1)
    for role in ("a", "b", "a"):
        models.ask(role)
    assert models.loaded == ["a", "b", "a"]


def test_a_model_in_use_is_never_unloaded_and_the_other_waits(
    serve: Callable[[int], Models],
) -> None:
    models = serve(1)
    using = models.thread("a").submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.thread("b").submit(ask())
    assert waiting.next(0.5) is None
    assert not models.models["a"].closed
    using.verdict(stop=True)
    assert isinstance(collect(waiting)[1], Finished)
    assert waiting.waited_s >= 0.5


def test_one_who_waits_for_room_can_be_cancelled(serve: Callable[[int], Models]) -> None:
    models = serve(1)
    using = models.thread("a").submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.thread("b").submit(ask())
    waiting.cancel()
    outcome = collect(waiting)[1]
    assert isinstance(outcome, FailedGeneration)
    assert outcome.code is ErrorCode.CANCELLED


def test_counting_tokens_loads_the_model(serve: Callable[[int], Models]) -> None:
    models = serve(1)
    models.ask("a")
    models.ask("b")
    counter = models.thread("a").counter(BOUND_S)
    assert counter is not None
    assert counter.count_text("hello") == 5


def test_a_model_larger_than_the_budget_is_refused_with_both_sizes(
    serve: Callable[[int], Models],
) -> None:
    models = serve(0)
    outcome = collect(models.thread("a").submit(ask()))[1]
    assert isinstance(outcome, FailedGeneration)
    assert outcome.code is ErrorCode.MODEL_LOAD_FAILED
    assert "models_memory_bytes" in outcome.message
    with pytest.raises(CommandError):
        models.thread("a").submit(ask())


def test_a_model_of_two_roles_is_one_that_starts_and_stops_once() -> None:
    budget, loaded = ModelMemory(1), list[FakeModel]()

    def load() -> FakeModel:
        loaded.append(FakeModel())
        return loaded[-1]

    thread = InferenceThread(
        lambda _report: budget.load("a/b", lambda: 1, load), name="a/b", on_demand=True
    )
    shared = ServedModel(Path("file"), thread)
    other = InferenceThread(
        lambda _report: budget.load("c", lambda: 1, load), name="c", on_demand=True
    )
    models = ResidentModels({"a": shared, "b": shared, "c": ServedModel(Path("c"), other)}, budget)
    models.start()
    for role in ("a", "b"):
        assert isinstance(collect(models.models[role].thread.submit(ask()))[1], Finished)
    assert len(loaded) == 1
    waiting = other.submit(ask())
    models.stop()
    assert loaded[0].closed
    assert collect(waiting)[1]
    assert models.threads == (thread, other)


def test_stopping_ends_those_who_wait_for_room() -> None:
    models = Models(1)
    models.resident.start()
    using = models.thread("a").submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.thread("b").submit(ask())
    stopper = threading.Thread(target=models.resident.stop)
    stopper.start()
    assert isinstance(collect(waiting)[1], FailedGeneration)
    stopper.join(BOUND_S)
    assert not stopper.is_alive()
