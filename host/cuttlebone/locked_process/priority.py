"""Processes that compute for long give way to everything else, the host's answers and inference first."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

DEMOTED_AFTER_S: Final = 0.5
"""Processor time that a process has at the host's own priority; few jobs ever use it up."""
LOOK_EVERY_S: Final = 0.25
_LOWEST: Final = 19
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Demoter:
    """Lowers the priority of processes that compute for long. Owned by the zygote, their parent.

    Invariant: every process in it is a child that was not waited for yet, so that its number
    cannot mean a stranger.
    """

    def __init__(self) -> None:
        self._watched: set[int] = set()

    @property
    def next_look_s(self) -> float | None:
        """How long the zygote may sleep; None is for ever."""
        return LOOK_EVERY_S if self._watched else None

    def watch(self, process: int) -> None:
        """Look after a process from now on."""
        self._watched.add(process)

    def forget(self, process: int) -> None:
        """A process was waited for."""
        self._watched.discard(process)

    def look(self) -> None:
        """Lower the priority of those that have used up their time, for good."""
        for process in tuple(self._watched):
            with suppress(OSError):  # it is ending
                if processor_s(process) > DEMOTED_AFTER_S:
                    os.setpriority(os.PRIO_PROCESS, process, _LOWEST)
                    self._watched.discard(process)


def processor_s(process: int) -> float:
    """Seconds of processor time that a process has used; raise OSError if it has ended."""
    text = Path(f"/proc/{process}/stat").read_bytes()
    # The second field is a name in parentheses and may contain anything.
    fields = text[text.rindex(b")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
