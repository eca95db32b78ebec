"""What keeps jobs: the protocol that the in-memory store and the durable one share."""

from collections.abc import Sequence
from typing import Protocol

from cuttlebone.jobs.events import EventKind, JobEvent
from cuttlebone.jobs.job import Accounting, Job, JobFilter
from cuttlebone_abi import Envelope, Json


class JobStore(Protocol):
    """Keeps jobs and their event logs. Any thread may call it; each call is atomic.

    Invariants: a status only moves forward; a final job never changes; the envelope is there
    before anybody can see a final status; the last event of a final job is its result.
    """

    def accept(self, job: Job, *, waiting_max: int) -> bool:
        """Keep a queued job, or return False if `waiting_max` jobs wait already."""

    def claim(self) -> Job | None:
        """Move the oldest queued job to running, as its next attempt."""

    def get(self, job_id: str) -> Job | None:
        """The job as it stands."""

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""

    def position(self, job_id: str) -> int | None:
        """How many queued jobs go before this queued one; None if it is not queued."""

    def waiting(self) -> int:
        """How many jobs are queued."""

    def append(self, job_id: str, kind: EventKind, data: Json) -> None:
        """Add to the event log of a running job; a progress event becomes the job's progress too."""

    def events(self, job_id: str, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""

    def request_cancel(self, job_id: str) -> Job | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""

    def finish(
        self, job_id: str, *, attempt: int, envelope: Envelope, accounting: Accounting | None
    ) -> bool:
        """Make the job final, if it is not yet and this is still its attempt (compare and set)."""
