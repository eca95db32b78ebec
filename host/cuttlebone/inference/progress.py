"""What the load of a model tells while it is under way, and how it ends before its time."""

from collections.abc import Callable
from typing import TypeAlias

Report: TypeAlias = Callable[[float], bool]
"""Takes the part of a load that is done, 0 to 1; answers False when nobody wants the model any more."""


class LoadAborted(Exception):
    """A load ended before its time, because its report said so."""


def unwatched(_done: float) -> bool:
    """Report of a load that nobody watches."""
    return True


def go_on(report: Report, done: float = 0.0) -> None:
    """Report, and raise LoadAborted if the load should end."""
    if not report(done):
        raise LoadAborted
