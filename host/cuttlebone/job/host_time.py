"""The clock of a host: moments of the day that go on evenly, whatever happens to the clock on the wall."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cuttlebone.job.job import now


def since_boot_s() -> float:
    """Seconds that the machine has been on, those of its sleep included; never less than before."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    """Reads the wall once and counts from there. Immutable; any thread may ask.

    What a host compares are its own moments: how long a job waited, when it expires. Somebody who
    sets the wall clock must not change the answers. The moments follow a wall that was set at the next start.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = now,
        elapsed_s: Callable[[], float] = since_boot_s,
    ) -> None:
        self._elapsed_s = elapsed_s
        self._began_s = elapsed_s()
        self._began = wall()

    def __call__(self) -> datetime:
        """The moment, in UTC; never before one that was given earlier."""
        return self._began + timedelta(seconds=self._elapsed_s() - self._began_s)


@dataclass(frozen=True, slots=True)
class HostTime:
    """What a host takes its moments from."""

    clock: Callable[[], datetime]
    """What it compares with moments of its own."""
    wall: Callable[[], datetime] = now
    """What others compare with their own time."""

    @classmethod
    def of(
        cls,
        wall: Callable[[], datetime] = now,
        elapsed_s: Callable[[], float] = since_boot_s,
    ) -> "HostTime":
        """The time of a host that starts now."""
        return cls(SteadyClock(wall, elapsed_s), wall)
