"""What one job may touch: its files, its model, its watchers, its budget."""

from dataclasses import dataclass
from typing import Protocol

from cuttlebone.commands.budget import Budget
from cuttlebone.files import HandleTable
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.prompts import TokenCounter
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone_abi import Json


class EventSink(Protocol):
    """Where a job's watchers are told of it."""

    def progress(self, value: Json) -> None:
        """Pass on what the guest emitted."""

    def token(self, text: str) -> None:
        """Pass on a piece of generated text."""

    def waiting(self, cause: str) -> None:
        """Say what the job is waiting for."""


class Generator(Protocol):
    """Where generations are submitted: an inference thread."""

    @property
    def loaded(self) -> bool:
        """Whether the model is there; if not, what is submitted waits for it, or is refused."""

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a generation; raise CommandError before anything is spent if it cannot be served."""

    def counter(self, timeout_s: float) -> TokenCounter | None:
        """What counts tokens, once the model is loaded; None when that takes longer than `timeout_s`.

        Raises CommandError if the model cannot be served.
        """


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a spec names: its role, and where it is served."""

    role: str
    generator: Generator
    defaults: InferDefaults


@dataclass(slots=True)
class JobScope:
    """All that one job may touch. Owner: its job thread."""

    job: str
    tenant: str
    files: HandleTable
    model: Model | None
    """None when the spec names no model: the job may not infer."""
    events: EventSink
    budget: Budget
    interactive: bool = False
    """Whether somebody waits for the job, so that its prompts go before those of others."""
    served_by: str = ""
    """Role of the model once it has served a generation, for the usage."""
    tokens_cached: int = 0
    infer_s: float = 0.0
    """Seconds from submitting generations to their ends, waiting included."""
    prefill_s: float = 0.0
    """Of these, from the admission of generations to their first tokens."""
    decode_s: float = 0.0
    """Of these, from first tokens to ends."""
