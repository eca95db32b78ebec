"""How a process of the command line can end."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """The exit statuses. 130 is added by the command line itself when Ctrl-C ends it."""

    DONE = 0
    """It was done; a job that was waited for completed."""
    FAILED = 1
    """It was carried out and came out badly: the job failed, the spec has a fault, the block is refused."""
    REFUSED = 2
    """Nothing was done: wrong usage, an input that is refused, a set-up that its operator must mend."""
    CANCELLED = 3
    """The job was cancelled."""
    UNREACHABLE = 4
    """No host answers."""
