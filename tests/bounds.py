"""How long tests wait: what a quiet machine needs many times over, times how slow this one is now."""

import os
import subprocess
import sys
from typing import Final

VARIABLE: Final = "TESTS_SLOWNESS"
"""Says the factor instead of measuring it, to people as well as to programs that tests start."""
SLOWNESS_MAX: Final = 6.0
_LOOP: Final = """
import time
begun_s, used_s = time.monotonic(), time.process_time()
while time.process_time() < used_s + 0.2: pass
print((time.monotonic() - begun_s) / 0.2)
"""


def measured_slowness() -> float:
    """Wall time of a loop over its processor time, with one on each processor: 1 on a quiet machine."""
    command = [sys.executable, "-S", "-E", "-c", _LOOP]
    loops = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in os.sched_getaffinity(0)]
    return max(float(loop.communicate()[0]) for loop in loops)


def slowness(stated: str | None) -> float:
    """What is stated, or else measured, but 1 at least and `SLOWNESS_MAX` at most."""
    found = measured_slowness() if stated is None else float(stated)
    return min(max(found, 1.0), SLOWNESS_MAX)


SLOWNESS: Final = slowness(os.environ.get(VARIABLE))
"""What every bound of a test is multiplied by. Measured once, when the tests begin."""


def scaled(quiet_s: float) -> float:
    """A bound for this machine, from one for a quiet machine; both in seconds."""
    return quiet_s * SLOWNESS


BOUND_S: Final = scaled(20.0)
"""For what takes an instant: whoever waits longer waits for nothing."""
