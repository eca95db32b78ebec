"""The event logs and journals of the store in memory."""

from collections.abc import Sequence

from cuttlebone.jobs.events import EventKind, JobEvent
from cuttlebone.jobs.job import now
from cuttlebone.jobs.journal import JournalEntry
from cuttlebone_abi import Json, dump_json


class Logs:
    """What was told and recorded of each job. Owner: the store, under its lock.

    Invariant: the events of a job are numbered from 1 without a gap.
    """

    def __init__(self) -> None:
        self._events: dict[str, list[JobEvent]] = {}
        self._journals: dict[str, list[JournalEntry]] = {}

    def append(self, job_id: str, kind: EventKind, data: Json) -> None:
        """Add an event."""
        log = self._events.setdefault(job_id, [])
        log.append(JobEvent(len(log) + 1, kind, data, now()))

    def record(self, job_id: str, entry: JournalEntry) -> None:
        """Add an entry to the journal."""
        self._journals.setdefault(job_id, []).append(entry)

    def events(
        self, job_id: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        end = None if limit is None else after + limit
        return self._events.get(job_id, [])[after:end]

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """All entries, in order."""
        return tuple(self._journals.get(job_id, ()))

    def size_bytes(self, job_id: str) -> int:
        """What the data of events and the bytes kept in the journal take."""
        return sum(len(dump_json(event.data)) for event in self.events(job_id)) + sum(
            len(entry.event or b"") + len(entry.reply or b"") for entry in self.journal(job_id)
        )

    def forget(self, job_id: str) -> None:
        """Wipe both."""
        self._events.pop(job_id, None)
        self._journals.pop(job_id, None)
