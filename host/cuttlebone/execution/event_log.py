"""Writes the events of one running job."""

from typing import Protocol

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Fence
from cuttlebone_abi import JobStatus, Json


class Appender(Protocol):
    """The part of an event store that is needed here."""

    def append(self, fence: Fence, kind: EventKind, data: Json) -> None:
        """Add an event to the log of a running attempt."""


class EventLog:
    """Writes the events of one running job. Owner: its job thread."""

    def __init__(self, fence: Fence, events: Appender, *, progress_told: int = 0) -> None:
        """`progress_told` is how many progress events earlier attempts have logged already."""
        self._fence = fence
        self._events = events
        self._progress_told = progress_told

    def progress(self, value: Json) -> None:
        """Log what the guest emitted, unless an earlier attempt has."""
        if self._progress_told > 0:
            self._progress_told -= 1
            return
        self._events.append(self._fence, EventKind.PROGRESS, value)

    def token(self, text: str) -> None:
        """Log a piece of generated text."""
        self._events.append(self._fence, EventKind.TOKEN, {"text": text})

    def waiting(self, cause: str) -> None:
        """Log what the running job is waiting for."""
        told = {"status": JobStatus.RUNNING, "waiting_for": cause}
        self._events.append(self._fence, EventKind.STATUS, told)
