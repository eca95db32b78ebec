"""What one generation has cost, and what several cost together in time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Who asked, who served, and what that took up to now or to the end; times in seconds."""

    tenant: str
    role: str
    """The name under which the model was asked for."""
    endpoint: str
    """Where the generation ran."""
    tokens_in: int
    """Prompt tokens, evaluated or taken from the cache."""
    tokens_cached: int
    """Of these, not evaluated."""
    tokens_out: int
    """Tokens sampled, whether or not they came to be text."""
    submitted_s: float
    """The moment of submission, on a clock that all generations of the endpoint share."""
    waited_s: float
    """From submission to admission, loading of the model included."""
    prefill_s: float
    """From admission to the first token, or to the end."""
    decode_s: float
    """From the first token to the end, waiting for verdicts included."""
    own_s: float = 0.0
    """Its part, by tokens, of the batches that ran while it had its place."""
    batches_from_s: float = 0.0
    """On a clock that goes on only while batches of the endpoint run: the first of these batches,"""
    batches_to_s: float = 0.0
    """and the end of the last."""
    exact: bool = True
    """Whether what else ran beside it, or before it, had no part in its text."""

    @property
    def admitted_s(self) -> float:
        """The moment of admission, or of the end."""
        return self.submitted_s + self.waited_s

    @property
    def first_token_s(self) -> float:
        """The moment of the first token, or of the end."""
        return self.admitted_s + self.prefill_s

    @property
    def ended_s(self) -> float:
        """The moment of the end, or now."""
        return self.first_token_s + self.decode_s


def together_s(spent: Sequence[Spent]) -> tuple[float, float]:
    """Seconds of the clock in which generations side by side were decoding, and in prefill alone.

    No second is counted twice, so both are part of the time from the first submission to the last end.
    """
    decode = [(one.first_token_s, one.ended_s) for one in spent]
    either = [(one.admitted_s, one.ended_s) for one in spent]
    decode_s = _covered(decode)
    return decode_s, max(0.0, _covered(either) - decode_s)


def shared_s(spent: Sequence[Spent]) -> float:
    """Seconds that batches spent on others while generations side by side had their places."""
    covered_s = _covered([(one.batches_from_s, one.batches_to_s) for one in spent])
    return max(0.0, covered_s - sum(one.own_s for one in spent))


def _covered(stretches: Iterable[tuple[float, float]]) -> float:
    """The length of a union of stretches."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(stretches):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered
