"""Generations on behalf of somebody who pays for them: the protocol behind which models are."""

from contextlib import AbstractContextManager
from typing import Protocol

from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.spent import Spent
from cuttlebone.generation.ticket import Generation


class Account(Protocol):
    """Who pays for generations, such as a job. Its methods are called in the thread that opens them."""

    def admit(self) -> None:
        """Count one more generation; raise CommandError (limit_exceeded) if its quota has none left."""

    def charge(self, spent: Spent) -> None:
        """Take over what a generation has cost: once for each that was accepted."""


class TokenCounter(Protocol):
    """Counts tokens as one model does; for any thread."""

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and answer of one generation may have together."""

    def count(self, request: GenerationRequest) -> int:
        """How many tokens the prompt of a request has; raise CommandError."""

    def count_text(self, text: str) -> int:
        """How many tokens plain text has, without a template; raise CommandError."""


class Inference(Protocol):
    """Where generations are asked for, by the role of the model; for any thread."""

    def open(
        self, role: str, request: GenerationRequest, account: Account
    ) -> AbstractContextManager[Generation]:
        """Have one generation, on behalf of the tenant of the request, while the body runs.

        Entering raises CommandError if `account` admits no more, or if the request cannot be
        served: then nothing is spent. Leaving cancels what has not ended, and charges the account
        for what was spent until then, whatever became of it.
        """

    def ready(self, role: str) -> bool:
        """Whether the model is there; if not, what is asked of it waits, or is refused."""

    def counter(self, role: str, timeout_s: float) -> TokenCounter | None:
        """What counts tokens, once the model is loaded; None when that takes longer than `timeout_s`.

        Raises CommandError if the model cannot be served.
        """
