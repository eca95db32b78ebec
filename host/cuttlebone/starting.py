"""Waiting for a child process to say its first word: as long as it lives and gets on."""

import select
import subprocess
import time
from collections.abc import Callable
from typing import Final, Protocol

LOOK_S: Final = 5.0
STALLED_S_MAX: Final = 300.0
"""A child that uses no processor time for that long hangs: a busy machine gives each a little."""
_CPUCLOCK_SCHED: Final = 2


class Readable(Protocol):
    """What can be waited for: a pipe or a socket."""

    def fileno(self) -> int:
        """Its descriptor."""


def await_word(
    child: subprocess.Popen[bytes],
    source: Readable,
    waiting: Callable[[float], None],
    *,
    look_s: float = LOOK_S,
    stalled_s_max: float = STALLED_S_MAX,
) -> bool:
    """Wait until `source` has something to read, or its other side is closed; False if the child hangs.

    There is no deadline: how long a start takes is up to the machine. `waiting` is told every
    `look_s` for how many seconds it has been.
    """
    begun_s = progress_s = time.monotonic()
    used_s = processor_s(child.pid)
    while not select.select([source], [], [], look_s)[0]:
        now_s = time.monotonic()
        if (now_used_s := processor_s(child.pid)) != used_s:
            used_s, progress_s = now_used_s, now_s
        if now_s - progress_s > stalled_s_max:
            return False
        waiting(now_s - begun_s)
    return True


def processor_s(process: int) -> float | None:
    """Processor time of a process, all its threads together; None once it is gone."""
    # What clock_getcpuclockid(3) would give, for which Python has no name. /proc counts in ticks
    # of 10 ms, which a child that waits for its own child may never reach.
    try:
        return time.clock_gettime(~process << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return None
