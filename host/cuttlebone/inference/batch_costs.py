"""What a batch costs, learnt from how long batches took: pure arithmetic."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FIXED_TOKENS: Final = 8.0
"""What the fixed cost of a call is taken for, in tokens, until batches of several sizes have shown it."""
DOUBT: Final = 1.0
"""How far each cost may be from its first guess: variance of its logarithm, as all that follow."""
CHANGE: Final = 0.001
"""What one cost changes from batch to batch without the others: a token deep in a prompt is dearer."""
LOAD_CHANGE: Final = 0.01
"""What all change together: something else wants the processors, or no longer does."""
NOISE: Final = 0.03
"""What a batch's time is off for no reason that lasts."""
SURPRISE_MAX: Final = math.log(4)
"""A batch in which the machine did something else counts as slow, no more."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a call of the model, of each token generated in it, and of each prompt token."""

    fixed_s: float
    each_decode_s: float
    each_prompt_s: float


class BatchCosts:
    """Estimates a batch as `fixed * calls + each_decode * decoding + each_prompt * prompt tokens`.

    A Kalman filter over the logarithms of the three: they are above zero, and the load of the
    machine moves them together. What it has over a fading mean of each is memory of which batches
    showed what: a small chunk that took long does not make prompt tokens dear where large chunks
    have shown what those cost; said of the tokens, it would make the next chunk smaller still.
    Owner: a pacer.
    """

    def __init__(self) -> None:
        self._logs: list[float] | None = None
        self._doubt = [[DOUBT if i == j else 0.0 for j in range(3)] for i in range(3)]
        """Covariance of `_logs`."""

    @property
    def costs(self) -> Costs | None:
        """What is known; None before the first batch."""
        return None if self._logs is None else Costs(*map(math.exp, self._logs))

    def took(self, calls: int, decoding: int, prompt_tokens: int, seconds: float) -> None:
        """Learn from one batch; a clock that stood still has said nothing."""
        if seconds <= 0:
            return
        logs = self._logs or _first(calls + (decoding + prompt_tokens) / FIXED_TOKENS, seconds)
        parts_s = [
            count * math.exp(log)
            for count, log in zip((calls, decoding, prompt_tokens), logs, strict=True)
        ]
        expected_s = sum(parts_s)
        surprise = math.log(seconds / expected_s)
        surprise = max(-SURPRISE_MAX, min(surprise, SURPRISE_MAX))
        gains = self._gains([part_s / expected_s for part_s in parts_s])
        self._logs = [log + gain * surprise for log, gain in zip(logs, gains, strict=True)]

    def _gains(self, shares: list[float]) -> list[float]:
        """What each cost answers for of a surprise; `shares` are their parts of what was expected."""
        doubt = self._doubt
        carried = [_product(row, shares) for row in doubt]
        whole = _product(carried, shares) + NOISE
        for i in range(3):
            for j in range(3):
                left = doubt[i][j] - carried[i] * carried[j] / whole
                doubt[i][j] = left + LOAD_CHANGE + (CHANGE if i == j else 0.0)
        return [one / whole for one in carried]


def _first(calls: float, seconds: float) -> list[float]:
    """Take all tokens alike, and a call for `FIXED_TOKENS` of them."""
    call = math.log(seconds / calls)
    token = call - math.log(FIXED_TOKENS)
    return [call, token, token]


def _product(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))
