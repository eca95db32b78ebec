"""Models load on demand, once, and the least recently used makes room; one in use never does."""

import dataclasses
import threading
from collections.abc import Callable
from functools import partial

import pytest

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.endpoints.memory import ModelMemory
from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import FailedGeneration, Finished, Piece
from cuttlebone.generation.state import Phase
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode
from inference.conftest import BOUND_S, ask, collect


class Models:
    """Three roles of size 1 each, and which of their models were loaded, in order."""

    def __init__(self, bytes_max: int) -> None:
        self.loaded: list[str] = []
        self.models: dict[str, ScriptedModel] = {}
        self.memory = ModelMemory(bytes_max)
        self.endpoints = {role: self._endpoint(role) for role in ("a", "b", "c")}
        self.memory.watch(self.endpoints.values())
        self.directory = EndpointDirectory(self.endpoints, memory=self.memory)

    def ask(self, role: str) -> None:
        """Have one generation of the role."""
        assert isinstance(collect(self.endpoints[role].submit(ask()))[1], Finished)

    def _endpoint(self, role: str) -> LocalEndpoint:
        return LocalEndpoint(
            lambda _report: self.memory.load(role, lambda: 1, partial(self._load, role)),
            name=role,
            on_demand=True,
            closed=partial(self.memory.release, role),
        )

    def _load(self, role: str) -> ScriptedModel:
        self.loaded.append(role)
        self.models[role] = ScriptedModel({"story": "once upon a time"})
        return self.models[role]


@pytest.fixture
def serve(request: pytest.FixtureRequest) -> Callable[[int], Models]:
    def make(bytes_max: int) -> Models:
        models = Models(bytes_max)
        models.directory.start()
        request.addfinalizer(models.directory.stop)
        return models

    return make


def test_nothing_is_loaded_before_it_is_asked_for(serve: Callable[[int], Models]) -> None:
    models = serve(3)
    before = models.endpoints["a"].state.phase
    models.ask("a")
    after = models.endpoints["a"].state.phase
    assert models.loaded == ["a"]
    assert (before, after) == (Phase.UNLOADED, Phase.READY)


def test_a_model_is_loaded_once_for_all_who_ask(serve: Callable[[int], Models]) -> None:
    models = serve(3)
    generations = [models.endpoints["a"].submit(ask(job=str(job))) for job in range(5)]
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
    using = models.endpoints["a"].submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.endpoints["b"].submit(ask())
    assert waiting.next(0.5) is None
    assert not models.models["a"].closed
    using.verdict(stop=True)
    assert isinstance(collect(waiting)[1], Finished)
    assert waiting.waited_s >= 0.5


def test_one_who_waits_for_room_can_be_cancelled(serve: Callable[[int], Models]) -> None:
    models = serve(1)
    using = models.endpoints["a"].submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.endpoints["b"].submit(ask())
    waiting.cancel()
    outcome = collect(waiting)[1]
    assert isinstance(outcome, FailedGeneration)
    assert outcome.code is ErrorCode.CANCELLED


def test_counting_tokens_loads_the_model(serve: Callable[[int], Models]) -> None:
    models = serve(1)
    models.ask("a")
    models.ask("b")
    counter = models.endpoints["a"].counter(BOUND_S)
    assert counter is not None
    assert counter.count_text("hello") == 5


def test_a_model_larger_than_the_budget_is_refused_with_both_sizes(
    serve: Callable[[int], Models],
) -> None:
    models = serve(0)
    outcome = collect(models.endpoints["a"].submit(ask()))[1]
    assert isinstance(outcome, FailedGeneration)
    assert outcome.code is ErrorCode.MODEL_LOAD_FAILED
    assert "models_memory_bytes" in outcome.message
    with pytest.raises(CommandError):
        models.endpoints["a"].submit(ask())


def test_a_model_of_two_roles_is_one_that_starts_and_stops_once() -> None:
    memory, loaded = ModelMemory(1), list[ScriptedModel]()

    def load() -> ScriptedModel:
        loaded.append(ScriptedModel())
        return loaded[-1]

    def loading_as(name: str) -> LocalEndpoint:
        return LocalEndpoint(
            lambda _report: memory.load(name, lambda: 1, load), name=name, on_demand=True
        )

    shared, other = loading_as("a/b"), loading_as("c")
    memory.watch([shared, other])
    directory = EndpointDirectory({"a": shared, "b": shared, "c": other}, memory=memory)
    directory.start()
    for role in ("a", "b"):
        assert isinstance(collect(directory.endpoint(role).submit(ask()))[1], Finished)
    assert len(loaded) == 1
    waiting = other.submit(ask())
    directory.stop()
    assert loaded[0].closed
    assert collect(waiting)[1]
    assert directory.endpoints == (shared, other)


def test_stopping_ends_those_who_wait_for_room() -> None:
    models = Models(1)
    models.directory.start()
    using = models.endpoints["a"].submit(dataclasses.replace(ask("story"), asks_verdict=True))
    assert isinstance(using.next(BOUND_S), Piece)
    waiting = models.endpoints["b"].submit(ask())
    stopper = threading.Thread(target=models.directory.stop)
    stopper.start()
    assert isinstance(collect(waiting)[1], FailedGeneration)
    stopper.join(BOUND_S)
    assert not stopper.is_alive()
