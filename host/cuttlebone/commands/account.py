"""What generations cost one job."""

from collections.abc import Iterator
from contextlib import contextmanager

from cuttlebone.commands.budget import Budget
from cuttlebone.generation.spent import Spent


class JobAccount:
    """The job as one who pays for generations, within its budget. Owner: the job thread."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.served_by = ""
        """Role of the model once it has served a generation, for the usage."""
        self.tokens_cached = 0
        self.infer_s = 0.0
        """Seconds from submitting generations to their ends, waiting included."""
        self.prefill_s = 0.0
        """From the admission of generations to their first tokens, those side by side added up."""
        self.decode_s = 0.0
        """From first tokens to ends, likewise."""

    def admit(self) -> None:
        """Count one generation against `infer_calls`; raise CommandError over the limit."""
        self._budget.spend_infer_call()

    def charge(self, spent: Spent) -> None:
        """Count what a generation took, however it ended."""
        self.recall(spent.role, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)
        self.tokens_cached += spent.tokens_cached
        self.prefill_s += spent.prefill_s
        self.decode_s += spent.decode_s

    def recall(self, role: str, *, tokens_in: int, tokens_out: int) -> None:
        """Count what an earlier attempt of the job has paid for."""
        self.served_by = role
        self._budget.spend_tokens(tokens_in, tokens_out)

    @contextmanager
    def inferring(self) -> Iterator[None]:
        """Count the time of the body as that of generations."""
        started_s = self._budget.elapsed_s
        try:
            yield
        finally:
            self.infer_s += self._budget.elapsed_s - started_s
