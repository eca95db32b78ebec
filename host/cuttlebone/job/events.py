"""The events of a job: what its watchers are told, numbered from 1."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cuttlebone_abi import Json


class EventKind(StrEnum):
    """What happened."""

    STATUS = "status"
    """`{"status": …}`: the job moved on, or tells what it is waiting for."""
    PROGRESS = "progress"
    """What the guest emitted, as it is."""
    TOKEN = "token"  # noqa: S105  # a piece of text, not a password
    """`{"text": …}`: a piece of a generation."""
    RESULT = "result"
    """The envelope. Always the last event."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One entry of an event log."""

    number: int
    kind: EventKind
    data: Json
    at: datetime
