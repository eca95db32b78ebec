"""What a replay shows: steps that went as recorded, and the first difference."""

from dataclasses import dataclass
from enum import StrEnum


class AnswerSource(StrEnum):
    """Where the answer to a step came from."""

    JOURNAL = "journal"
    AGAIN = "again"
    """Carried out again, and the same as recorded."""


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """A step that went as recorded."""

    step: int
    command: str
    """The whole command."""
    answer: AnswerSource


class DivergedPart(StrEnum):
    """In what a step was different."""

    COMMAND = "command"
    EVENT = "event"
    VERDICT = "verdict"
    """On a piece of a generation."""
    END = "end"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference: what was recorded at a step, and what came instead."""

    step: int
    what: DivergedPart
    recorded: str
    instead: str
