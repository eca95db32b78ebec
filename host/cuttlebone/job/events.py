"""The events of a job: what its watchers are told, numbered from 1."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cuttlebone.job.job import JobKey
from cuttlebone_abi import Json, load_json


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
    json: bytes
    """The data as it is kept, so that whoever passes it on neither reads nor writes it anew."""
    at: datetime

    @property
    def data(self) -> Json:
        """The data, read."""
        return load_json(self.json)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One entry of the log over all jobs."""

    cursor: str
    """Where to go on behind it. Opaque: only the store that gave it can read it."""
    key: JobKey
    event: JobEvent | None
    """None where the events of a job, up to its last one, went with the job that was forgotten."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events of all jobs are read."""

    tenant: str | None = None
    kinds: frozenset[EventKind] | None = None

    def matches(self, logged: LoggedEvent) -> bool:
        """Whether it is read. A gap is one of every kind, as nobody knows what was in it."""
        return self.tenant in {None, logged.key.tenant} and (
            self.kinds is None or logged.event is None or logged.event.kind in self.kinds
        )
