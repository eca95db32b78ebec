"""Whether work takes time by the length of what it is given: twice as much of it takes twice as long."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

RATIO_MAX: Final = 2.5
SMALLEST_S: Final = 0.003
"""Less than that is too short to be measured: the size is doubled until it takes as long."""
TRIES: Final = 4

T = TypeVar("T")


def assert_linear(
    work: Callable[[T], object], of: Callable[[int], T], *, size: int = 1 << 10, size_max: int
) -> None:
    """Measure `work` on what `of` makes of some size and of twice that, by processor time of this thread.

    The size is `size` or more, at most `size_max`: work that is still too short to be measured then is
    short enough. Each time is the best of a few, and only too much in each of a few tries fails.
    """
    while 2 * size <= size_max and _seconds(work, of(size)) < SMALLEST_S:
        size *= 2
    ratios = []
    for _ in range(TRIES):
        once, twice = of(size), of(2 * size)
        ratio = _best(work, twice) / max(_best(work, once), SMALLEST_S)
        if ratio <= RATIO_MAX:
            return
        ratios.append(ratio)
    raise AssertionError(f"twice as much as {size} took {min(ratios):.1f} times as long")


def _best(work: Callable[[T], object], given: T) -> float:
    return min(_seconds(work, given) for _ in range(TRIES))


def _seconds(work: Callable[[T], object], given: T) -> float:
    begun_s = time.thread_time()
    work(given)
    return time.thread_time() - begun_s
