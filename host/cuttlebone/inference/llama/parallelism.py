"""With how many threads a batch is computed: all of them, or one while the machine is busy. Pure arithmetic."""

from typing import Final

FIXED_TOKENS: Final = 2
"""What every batch costs, in tokens: makes batches of different sizes comparable."""
SLOWER: Final = 1.2
"""How much slower than one thread all threads may be before one takes over."""
SLOW_BATCHES: Final = 2
"""So many in a row: one alone may be chance."""
PROBE_SHARE: Final = 1 / 20
"""The part of the time that trying all threads again may take."""
MEMORY: Final = 0.7
"""How much of what was known of one thread counts after one more batch."""


class Parallelism:
    """Chooses between one thread and all threads of a model. Owner: the model.

    Threads that compute together wait for each other hundreds of times a batch. Where something
    else wants their processors, each wait can last as long as a turn of the scheduler: two threads were seen to be
    thirty times slower than one. So the first batch, and batches while the machine is busy, are
    computed by one thread; all threads are tried again now and then, and kept as long as they are faster.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._together = False
        self._probing = False
        self._slow = 0
        self._alone_s: float | None = None
        """Seconds a token with one thread; None while that is not known."""
        self._until_probe_s = 0.0

    @property
    def threads(self) -> int:
        """For the next batch."""
        return self._threads_max if self._together else 1

    def took(self, tokens: int, seconds: float) -> None:
        """Learn from a batch that was computed with `threads`."""
        each_s = seconds / (tokens + FIXED_TOKENS)
        if self._together:
            self._took_together(each_s, seconds)
        elif self._threads_max > 1:
            self._took_alone(each_s, seconds)

    def _took_alone(self, each_s: float, seconds: float) -> None:
        known = each_s if self._alone_s is None else self._alone_s
        self._alone_s = MEMORY * known + (1 - MEMORY) * each_s
        self._until_probe_s -= seconds
        if self._until_probe_s <= 0:
            self._together = self._probing = True
            self._slow = 0

    def _took_together(self, each_s: float, seconds: float) -> None:
        alone_s = self._alone_s if self._alone_s is not None else each_s
        if each_s <= alone_s * (1 if self._probing else SLOWER):
            self._slow, self._probing = 0, False
            return
        self._slow += 1
        if self._probing or self._slow == SLOW_BATCHES:
            if not self._probing:
                self._alone_s = None  # from another time, when the machine was not busy
            self._together = self._probing = False
            self._until_probe_s = seconds / PROBE_SHARE
