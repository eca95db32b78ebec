"""What generations cost one job."""

from collections.abc import Iterator
from contextlib import contextmanager

from cuttlebone.commands.budget import Budget
from cuttlebone.generation.spent import Spent, shared_s, together_s


class JobAccount:
    """The job as one who pays for generations, within its budget. Owner: the job thread.

    Invariant: `waited_s`, `prefill_s` and `decode_s` together are at most `infer_s`, however many
    generations run side by side.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.served_by = ""
        """Role of the model once it has served a generation, for the usage."""
        self.tokens_cached = 0
        self.exact: bool | None = None
        """Whether all of its texts are; None while it has none."""
        self.infer_s = 0.0
        """Seconds from submitting generations to their ends, without those in the guest."""
        self.waited_s = 0.0
        """Of these, until a generation was admitted, or the model was there."""
        self.prefill_s = 0.0
        """Of these, in which there were prompts alone to be evaluated."""
        self.decode_s = 0.0
        """Of these, in which a generation was under way after its first token."""
        self.shared_s = 0.0
        """Of prefill and decode, what the model spent on others."""
        self._charged: list[Spent] = []
        self._heard_s = 0.0

    def admit(self) -> None:
        """Count one generation against `infer_calls`; raise CommandError over the limit."""
        self._budget.spend_infer_call()

    def charge(self, spent: Spent) -> None:
        """Count what a generation took, however it ended."""
        self.recall(spent.role, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)
        self.exact = spent.exact and self.exact is not False
        self.tokens_cached += spent.tokens_cached
        self._charged.append(spent)

    def recall(self, role: str, *, tokens_in: int, tokens_out: int) -> None:
        """Count what an earlier attempt of the job has paid for."""
        self.served_by = role
        self._budget.spend_tokens(tokens_in, tokens_out)

    def heard(self, seconds: float) -> None:
        """Take out what a verdict took in the guest: that is accounted for as the guest's."""
        self._heard_s += seconds

    @contextmanager
    def inferring(self) -> Iterator[None]:
        """Count the time of the body, in which generations are opened and charged, as theirs."""
        self._charged.clear()
        self._heard_s = 0.0
        started_s, waited_before_s = self._budget.elapsed_s, self._budget.waited_s
        try:
            yield
        finally:
            took_s = self._budget.elapsed_s - started_s
            self._divide(took_s, self._budget.waited_s - waited_before_s)

    def _divide(self, took_s: float, waited_s: float) -> None:
        """Give each second of the clock to one part, the guest's own aside."""
        decode_s, prefill_s = together_s(self._charged)
        # Each at most what is left: the clocks of model and job are not read at the same moment.
        infer_s = max(0.0, took_s - self._heard_s)
        waited_s = min(waited_s, infer_s)
        decode_s = min(max(0.0, decode_s - self._heard_s), infer_s - waited_s)
        self.infer_s += infer_s
        self.waited_s += waited_s
        self.decode_s += decode_s
        prefill_s = min(prefill_s, infer_s - waited_s - decode_s)
        self.prefill_s += prefill_s
        self.shared_s += min(shared_s(self._charged), prefill_s + decode_s)
