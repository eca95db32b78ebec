"""The thread that owns one resident model and serves every generation of every job."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from cuttlebone.inference.generation import Generation, GenerationRequest
from cuttlebone.inference.model import Model, ModelInfo


class Phase(StrEnum):
    """How far an inference thread is."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class State:
    """The phase, and for `failed` the reason in words for the operator."""

    phase: Phase
    reason: str = ""


class InferenceThread:
    """One model and the generations that it serves; the tick follows."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load

    def start(self) -> None:
        """Begin to load; generations may be submitted at once and wait for it."""
        raise NotImplementedError

    def stop(self) -> None:
        """End every generation as cancelled, free the model and join the thread."""
        raise NotImplementedError

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a request, from any thread; raise CommandError before anything is spent."""
        raise NotImplementedError

    def count_tokens(self, request: GenerationRequest) -> int:
        """Count the prompt tokens that `submit` would evaluate, from any thread."""
        raise NotImplementedError

    @property
    def state(self) -> State:
        """Whether it can serve."""
        raise NotImplementedError

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the model, once it is loaded."""
        raise NotImplementedError
