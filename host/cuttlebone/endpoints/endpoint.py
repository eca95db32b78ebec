"""Where generations run: the one protocol, whoever generates behind it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from cuttlebone.generation.figures import Figures
from cuttlebone.generation.inference import TokenCounter
from cuttlebone.generation.request import GenerationRequest, RequestField
from cuttlebone.generation.state import State
from cuttlebone.generation.ticket import Generation


class Mode(StrEnum):
    """Whose process generates."""

    IN_PROCESS = "in_process"
    """The host's own."""
    MANAGED = "managed"
    """A server that the host starts and stops."""
    ADOPTED = "adopted"
    """A server that runs without the host."""


class Weakness(StrEnum):
    """Something that a generation in the host's own process would keep, and this one does not."""

    LATE_STOP = "late_stop"
    """After a verdict of stop tokens may still be sampled, and are paid."""
    INEXACT_USAGE = "inexact_usage"
    """Tokens are not counted by the host."""
    UNREPEATABLE = "unrepeatable"
    """The same request with the same seed may give another text."""
    OPEN_TURNS = "open_turns"
    """Content of a message can forge a turn."""
    SHARED_PROMPTS = "shared_prompts"
    """The time of an answer can tell what other tenants have asked."""


@dataclass(frozen=True, slots=True)
class EndpointCapabilities:
    """What an endpoint can do, as far as that is known now."""

    mode: Mode
    context_tokens: int | None
    """Prompt and answer of one generation together; None until it is known."""
    slots: int | None
    """Generations at once, others wait; None until it is known."""
    fields: frozenset[RequestField]
    """Parts of a request that it carries; asked for others it would not know what to do."""
    weakens: frozenset[Weakness]
    stays_local: bool
    """Whether nothing that it is told leaves this machine."""


class Endpoint(Protocol):
    """One place where generations run. All but `start` and `stop`, its owner's, is for any thread.

    Whatever `submit` accepts gets an outcome, also if the endpoint fails or is stopped.
    """

    @property
    def name(self) -> str:
        """What it is called in messages and metrics."""

    @property
    def capabilities(self) -> EndpointCapabilities:
        """What it can do."""

    @property
    def state(self) -> State:
        """Whether it can generate, and why not."""

    @property
    def figures(self) -> Figures:
        """What it has done so far, and what it is doing now."""

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a request; raise CommandError before anything is spent if it cannot be served.

        Codes: invalid_argument, limit_exceeded, context_overflow, invalid_grammar, unsupported, and
        model_load_failed when there is nothing to generate with. Until it is ready these may
        become the outcome of the generation instead, which waits for that.
        """

    def counter(self, timeout_s: float) -> TokenCounter | None:
        """What counts tokens, once that is possible; None when it takes longer than `timeout_s`.

        Raises CommandError (model_load_failed) if the model cannot be served.
        """

    def start(self) -> None:
        """Begin to become ready, or to wait for the first request."""

    def stop(self) -> None:
        """End every generation as cancelled, and give back all that was taken. Also unstarted."""
