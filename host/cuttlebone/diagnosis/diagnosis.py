"""What a look at one thing that a host needs has shown."""

from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """What is to be done about it."""

    FINE = "fine"
    NOTE = "note"
    """Good to know. The host runs as it is set up."""
    MEND = "mend"
    """The host would not start, would not serve all, or is open to others."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at."""

    area: str
    condition: Condition
    what: str
    advice: str = ""
    """What to do."""


def fine(area: str, what: str) -> Diagnosis:
    """Nothing is to be done."""
    return Diagnosis(area, Condition.FINE, what)


def note(area: str, what: str, advice: str) -> Diagnosis:
    """Good to know."""
    return Diagnosis(area, Condition.NOTE, what, advice)


def mend(area: str, what: str, advice: str) -> Diagnosis:
    """To be mended."""
    return Diagnosis(area, Condition.MEND, what, advice)
