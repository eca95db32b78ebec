"""How many prompt tokens a batch may have, learnt from how long batches take: pure arithmetic."""

from typing import Final

BATCH_S_MAX: Final = 0.12
"""A cancel waits for the end of a batch, and so does the next token of everybody else."""
DECODE_BONUS: Final = 0.5
"""What generations have of a batch's time beyond an equal share: decode goes before prefill."""
SLOW_AT_MOST: Final = 4
"""A batch counts for at most so many times what was expected of it."""
MEMORY: Final = 0.98
"""How much of what was known before counts after one more batch."""


class Pace:
    """Estimates a batch of n tokens as `fixed + n * each` seconds. Owned by the inference thread.

    Least squares with the past fading out: on a processor a prompt token costs nearly as much as
    a generated one, on a graphics card a small fraction, and both change with the load of the
    machine. Until two different sizes were seen, `each` is the mean.
    """

    def __init__(self) -> None:
        self._weight = 0.0
        self._n = 0.0
        self._s = 0.0
        self._nn = 0.0
        self._ns = 0.0
        self._owed = 0.0
        """The part of a token that the last batch had no room for."""

    def took(self, tokens: int, seconds: float) -> None:
        """Learn from one batch; one in which the machine did something else counts as slow, no more."""
        fixed, each = self._line()
        if each > 0:
            seconds = min(seconds, SLOW_AT_MOST * (fixed + tokens * each))
        self._weight = self._weight * MEMORY + 1
        self._n = self._n * MEMORY + tokens
        self._s = self._s * MEMORY + seconds
        self._nn = self._nn * MEMORY + tokens * tokens
        self._ns = self._ns * MEMORY + tokens * seconds

    def prefill_tokens(
        self, decoding: int, prefilling: int, *, first: int = 32, most: int = 512
    ) -> int:
        """Prompt tokens for a batch with one token for each of `decoding` generations.

        Every sequence has an equal share of the batch's time, and those that generate have half a
        one more: one prompt leaves a generation six tenths of its speed, and many prompts are not
        kept waiting by the first that is ready. `first` is the answer while nothing is known.
        """
        fixed, each = self._line()
        if each <= 0:
            return first
        by_time = (BATCH_S_MAX - fixed) / each - decoding
        if decoding:
            alone = fixed + decoding * each
            by_time = min(by_time, alone * prefilling / (decoding + DECODE_BONUS) / each)
        due = by_time + self._owed
        tokens = max(1, min(most, int(due)))
        self._owed = min(max(due - tokens, 0.0), 1.0)
        return tokens

    def _line(self) -> tuple[float, float]:
        spread = self._weight * self._nn - self._n * self._n
        if spread > self._n:  # sizes differ by more than rounding
            each = (self._weight * self._ns - self._n * self._s) / spread
            fixed = (self._s - each * self._n) / self._weight
            if each > 0 and fixed >= 0:
                return fixed, each
        return 0.0, self._s / self._n if self._n else 0.0
