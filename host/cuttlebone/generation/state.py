"""How far the place is where generations run."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What can be said of it in a word."""

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
