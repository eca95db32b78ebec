"""Whether work takes time by the length of what it is given: twice as much of it takes twice as long."""

import time
from collections.abc import Callable
from typing import Final

RATIO_MAX: Final = 2.5
SMALLEST_S: Final = 0.002
"""Less than that is too short to be measured: the size is doubled until it takes as long."""
SIZE_MAX: Final = 1 << 24
TRIES: Final = 3


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Measure `work` of `size` and of twice as much, by the processor time of this thread.

    Each is the best of a few, and there are a few tries: only too much of it in all of them fails.
    """
    while _seconds(work, size) < SMALLEST_S and size < SIZE_MAX:
        size *= 2
    ratios = []
    for _ in range(TRIES):
        ratio = _best(work, 2 * size) / max(_best(work, size), SMALLEST_S)
        if ratio <= RATIO_MAX:
            return
        ratios.append(ratio)
    raise AssertionError(f"twice as much as {size} took {min(ratios):.1f} times as long")


def _best(work: Callable[[int], object], size: int) -> float:
    return min(_seconds(work, size) for _ in range(TRIES))


def _seconds(work: Callable[[int], object], size: int) -> float:
    begun_s = time.thread_time()
    work(size)
    return time.thread_time() - begun_s
