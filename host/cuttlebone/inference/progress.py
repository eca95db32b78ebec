"""How far a model is: the states of its thread, and what a load tells while it is under way."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Phase(StrEnum):
    """How far an inference thread is."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class State:
    """The phase, and in words for the operator why it is no better."""

    phase: Phase
    reason: str = ""
    progress: float | None = None
    """While it is loading, the part of that which is done, 0 to 1."""


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
