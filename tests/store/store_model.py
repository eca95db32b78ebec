"""What a store should hold of one job, as plain data."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import PRIORITY_LEAD_S, Job
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job_options import Priority
from cuttlebone_abi import Cancelled, Completed, Envelope, Failure, JobStatus, Json, Usage

USAGE = Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="m")
ENVELOPES: tuple[Envelope, ...] = (
    Completed(result={"big": 2**70}, usage=USAGE),
    Cancelled(error=Failure(code="cancelled", message="enough"), usage=USAGE),
)


@dataclass(slots=True)
class Model:
    """What a store should hold of one job."""

    job: Job
    key: str | None
    accepted_at: datetime
    """On the clock of the store."""
    number: int
    events: list[tuple[EventKind, Json]] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    parts: list[JournalPart] = field(default_factory=list)

    @property
    def rank(self) -> tuple[datetime, int]:
        """Where it stands in the queue."""
        lead_s = PRIORITY_LEAD_S if self.job.priority is Priority.INTERACTIVE else 0
        return self.accepted_at - timedelta(seconds=lead_s), self.number

    def status(self, status: JobStatus, **more: Json) -> None:
        owner = self.job.owner if status is JobStatus.RUNNING else ""
        self.job = replace(self.job, status=status, owner=owner)
        self.events.append((EventKind.STATUS, {"status": status, **more}))
