"""How many prompt tokens a batch may have, learnt from how long batches take: pure arithmetic."""

from typing import Final

BATCH_S_MAX: Final = 0.12
"""A cancel waits for the end of a batch, and so does the next token of everybody else."""
LONGER_AT_LEAST: Final = 0.1
"""By this part prompts may lengthen a batch that takes long without them: they go on in any case."""
DECODE_BONUS: Final = 0.5
"""What generations have of a batch's time beyond an equal share: decode goes before prefill."""
SLOW_AT_MOST: Final = 4
"""A batch counts for at most so many times what was expected of it."""
FIRST_TOKENS: Final = 32
"""Prompt tokens of a batch while nothing is known."""
DECODE_MEMORY: Final = 0.98
"""How much of what was known before counts after one more batch of generations alone."""
PREFILL_MEMORY: Final = 0.8
"""The same for prompt tokens: they cost more and more as a prompt grows."""


class PrefillPacer:
    """Estimates a batch as `fixed + decoding * each`, and what each prompt token adds to it.

    The first is least squares over batches without prompts, with the past fading out; the second a
    fading mean over batches with some. On a processor a token of a long prompt costs several times
    what a generated one does, on a graphics card a small fraction, and both change with the load of
    the machine. Owned by the inference thread.
    """

    def __init__(self) -> None:
        self._weight = 0.0
        self._n = 0.0
        self._s = 0.0
        self._nn = 0.0
        self._ns = 0.0
        self._prefill_each_s: float | None = None
        self._owed = 0.0
        """The part of a token that the last batch had no room for."""

    def took(self, decoding: int, prefill_tokens: int, seconds: float) -> None:
        """Learn from one batch; one in which the machine did something else counts as slow, no more."""
        expected_s = self._alone_s(decoding) + prefill_tokens * (self._prefill_each_s or 0.0)
        if expected_s > 0:
            seconds = min(seconds, SLOW_AT_MOST * expected_s)
        if prefill_tokens:
            self._took_prompts(decoding, prefill_tokens, seconds)
            return
        self._weight = self._weight * DECODE_MEMORY + 1
        self._n = self._n * DECODE_MEMORY + decoding
        self._s = self._s * DECODE_MEMORY + seconds
        self._nn = self._nn * DECODE_MEMORY + decoding * decoding
        self._ns = self._ns * DECODE_MEMORY + decoding * seconds

    def prefill_tokens(self, decoding: int, prompt_weight: float) -> int:
        """Prompt tokens for a batch with one token for each of `decoding` generations.

        Together the prompts weigh as much as `prompt_weight` of the generations, and those have half
        a one more: one prompt leaves a generation six tenths of its speed, and many prompts are not
        kept waiting by the first that is ready. Beside generations that may be none in one batch and
        one in the next. How many fit into a batch at all is for others to say.
        """
        each_s = self._prefill_each_s or self._line()[1]
        if each_s <= 0:
            return FIRST_TOKENS
        alone_s = self._alone_s(decoding)
        by_time = max(BATCH_S_MAX - alone_s, alone_s * LONGER_AT_LEAST) / each_s
        if decoding:
            by_time = min(by_time, alone_s * prompt_weight / (decoding + DECODE_BONUS) / each_s)
        due = by_time + self._owed
        tokens = int(due) if decoding else max(1, int(due))
        self._owed = max(due - tokens, 0.0)
        return tokens

    def _took_prompts(self, decoding: int, prefill_tokens: int, seconds: float) -> None:
        if self._weight:
            each_s = max(seconds - self._alone_s(decoding), 0.0) / prefill_tokens
        else:  # nothing is known of generations yet: all tokens alike
            each_s = seconds / (decoding + prefill_tokens)
        known_s = each_s if self._prefill_each_s is None else self._prefill_each_s
        self._prefill_each_s = PREFILL_MEMORY * known_s + (1 - PREFILL_MEMORY) * each_s

    def _alone_s(self, decoding: int) -> float:
        """Seconds of a batch without prompts."""
        if not decoding:
            return 0.0
        fixed_s, each_s = self._line()
        return fixed_s + decoding * each_s

    def _line(self) -> tuple[float, float]:
        spread = self._weight * self._nn - self._n * self._n
        if spread > self._n:  # sizes differ by more than rounding
            each = (self._weight * self._ns - self._n * self._s) / spread
            fixed = (self._s - each * self._n) / self._weight
            if each > 0 and fixed >= 0:
                return fixed, each
        return 0.0, self._s / self._n if self._n else self._prefill_each_s or 0.0
