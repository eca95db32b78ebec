"""The models that are in memory: each role leads to the inference thread of its model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuttlebone.endpoints.memory import ModelMemory
from cuttlebone.errors import CommandError
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.prompts import TokenCounter
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of this host: its file and the thread that owns it, which may serve several roles."""

    file: Path
    thread: InferenceThread


@dataclass(frozen=True, slots=True)
class Unserved:
    """Stands where the generator of an unknown role would be, and says so to whoever asks it."""

    role: str

    @property
    def loaded(self) -> bool:
        """Never."""
        return False

    def submit(self, request: GenerationRequest) -> Generation:  # noqa: ARG002  # refuses them all
        """Raise CommandError."""
        raise self._refusal()

    def counter(self, timeout_s: float) -> TokenCounter | None:  # noqa: ARG002  # refuses at once
        """Raise CommandError."""
        raise self._refusal()

    def _refusal(self) -> CommandError:
        role = printable(self.role)
        return CommandError(
            ErrorCode.MODEL_LOAD_FAILED,
            f"no model is served as {role!r}; start the host with --model {role}=FILE.gguf",
        )


class ResidentModels:
    """Roles to models. Immutable; its owner, the host, starts and stops the threads through it."""

    def __init__(
        self, models: Mapping[str, ServedModel], budget: ModelMemory | None = None
    ) -> None:
        """With a `budget` the threads load on demand, through it."""
        self.models = dict(sorted(models.items()))
        self.threads = tuple(dict.fromkeys(model.thread for model in self.models.values()))
        """Each once, however many roles it serves."""
        self._budget = budget
        if budget is not None:
            budget.watch({thread.name: thread for thread in self.threads})

    def start(self) -> None:
        """Begin to load every model, or to wait for the first request to it."""
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """End every generation and free every model."""
        if self._budget is not None:
            self._budget.close()
        for thread in self.threads:
            thread.stop()

    def generator(self, role: str) -> InferenceThread | Unserved:
        """Return where generations of `role` go. One that is not served refuses them itself."""
        model = self.models.get(role)
        return Unserved(role) if model is None else model.thread
