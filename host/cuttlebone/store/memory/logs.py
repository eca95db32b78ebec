"""The event logs and journals of the store in memory, and what jobs take there."""

from collections.abc import Sequence

from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Job, now
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone_abi import Json, dump_json


class Logs:
    """What was told and recorded of each job. Owner: the store, under its lock.

    Invariant: the events of a job are numbered from 1 without a gap.
    """

    def __init__(self) -> None:
        self._events: dict[str, list[JobEvent]] = {}
        self._journals: dict[str, list[JournalEntry]] = {}
        self._parts: dict[str, list[JournalPart]] = {}

    def append(self, job_id: str, kind: EventKind, data: Json) -> None:
        """Add an event."""
        log = self._events.setdefault(job_id, [])
        log.append(JobEvent(len(log) + 1, kind, data, now()))

    def record(self, job_id: str, entry: JournalEntry) -> None:
        """Add an entry to the journal, in place of the parts of its step."""
        self._journals.setdefault(job_id, []).append(entry)
        if entry.dear:
            self._parts[job_id] = [one for one in self.parts(job_id) if one.step != entry.step]

    def record_part(self, job_id: str, part: JournalPart) -> None:
        """Add a part of an entry that is not there yet."""
        self._parts.setdefault(job_id, []).append(part)

    def events(
        self, job_id: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        end = None if limit is None else after + limit
        return self._events.get(job_id, [])[after:end]

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """All entries, in order."""
        return tuple(self._journals.get(job_id, ()))

    def parts(self, job_id: str) -> Sequence[JournalPart]:
        """All parts, by step and number."""
        parts = self._parts.get(job_id, ())
        return tuple(sorted(parts, key=lambda part: (part.step, part.number)))

    def size_bytes(self, job: Job) -> int:
        """What input and envelope, the data of events and the bytes kept in the journal take."""
        whole = [event.data for event in self.events(job.id)]
        if job.envelope is not None:
            whole.append(job.envelope)
        return (
            len(job.input)
            + sum(len(dump_json(value)) for value in whole)
            + sum(len(one.event or b"") + len(one.reply or b"") for one in self.journal(job.id))
            + sum(len(part.result) for part in self.parts(job.id))
        )

    def forget_parts(self, job_id: str) -> None:
        """Wipe the parts of entries that will never be there."""
        self._parts.pop(job_id, None)

    def forget(self, job_id: str) -> None:
        """Wipe everything."""
        self._events.pop(job_id, None)
        self._journals.pop(job_id, None)
        self.forget_parts(job_id)
