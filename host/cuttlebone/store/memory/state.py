"""What the stores in memory share: each job with all that belongs to it, and what is looked up often."""

import bisect
import secrets
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from cuttlebone.job.delivery import Delivery, Topic
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Fence, Job, JobKey, JobStatusRow, now
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.store.events import GAPS_KEPT_MAX
from cuttlebone.store.memory.queue_order import Place, QueueOrder
from cuttlebone.store.memory.spec_documents import SpecDocuments
from cuttlebone.store.watchers import Watchers
from cuttlebone.text.sealed_numbers import SECRET_BYTES
from cuttlebone_abi import JobStatus, dump_json

QUEUED: Final = dump_json({"status": JobStatus.QUEUED})
"""What an event log says of a job that waits."""


@dataclass(slots=True)
class KeptJob:
    """A job and all that goes with it. Owner: the state, under its lock.

    Invariant: `events` are numbered from 1 without a gap, and `rows` are their places in the log
    over all jobs.
    """

    job: Job
    rank_us: int
    idempotency_key: str | None = None
    lease_end: datetime | None = None
    events: list[JobEvent] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    parts: list[JournalPart] = field(default_factory=list)
    deliveries: dict[Topic, Delivery] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Where it stands in the queue while it waits."""
        return self.rank_us, self.job.number, self.job.key

    def status_row(self) -> JobStatusRow:
        """Where it stands."""
        job = self.job
        return JobStatusRow(
            key=job.key,
            spec=job.spec,
            spec_sha256=job.spec_sha256,
            status=job.status,
            attempt=job.attempt,
            owner=job.owner,
            cancel_requested=job.cancel_requested,
            last_event=len(self.events),
        )

    def size_bytes(self) -> int:
        """What input and envelope, the data of events and the bytes kept in the journal take."""
        job = self.job
        return (
            len(job.input)
            + (0 if job.envelope is None else len(dump_json(job.envelope)))
            + sum(len(event.json) for event in self.events)
            + sum(len(one.event or b"") + len(one.reply or b"") for one in self.journal)
            + sum(len(part.result) for part in self.parts)
        )


class MemoryState:
    """Jobs by key, in the order of acceptance. Owner: the stores over it, each under `lock`.

    Invariants: `queue` has exactly the queued jobs and `expiring` those of them that may expire;
    `finished` has the final ones, the oldest first; `running` has the running ones by
    tenant, and none without any; `statuses` counts what there is;
    `keys` has the idempotency keys of the jobs that are kept, and `pending` their deliveries
    that are not settled.
    """

    def __init__(
        self, *, clock: Callable[[], datetime] = now, gaps_kept_max: int = GAPS_KEPT_MAX
    ) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.life = uuid.uuid4().hex[:8]
        """What a cursor of this log begins with: after a restart it says nothing."""
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self.watchers = Watchers()
        self.kept: dict[JobKey, KeptJob] = {}
        self.keys: dict[tuple[str, str], JobKey] = {}
        self.queue = QueueOrder()
        self.expiring: dict[JobKey, datetime] = {}
        self.finished: dict[JobKey, None] = {}
        self.statuses: Counter[JobStatus] = Counter()
        self.running: dict[str, set[JobKey]] = {}
        self.spec_documents = SpecDocuments()
        self.pending: dict[tuple[Topic, JobKey], None] = {}
        self.accepted = 0
        self.last_row = 0
        self.gaps: list[tuple[int, JobKey]] = []
        self.lost_row = 0
        """Gaps up to this place are not named any more."""
        self._gaps_kept_max = gaps_kept_max

    def add(self, kept: KeptJob) -> None:
        """Keep a job that is new."""
        self.kept[kept.job.key] = kept
        if kept.idempotency_key is not None:
            self.keys[kept.job.tenant, kept.idempotency_key] = kept.job.key
        self._enter(kept)

    def move(self, kept: KeptJob, job: Job) -> None:
        """Let a job be in another status."""
        self._leave(kept)
        kept.job = job
        self._enter(kept)

    def log(self, kept: KeptJob, kind: EventKind, json: bytes) -> None:
        """Add an event to the log of a job."""
        self.last_row += 1
        kept.rows.append(self.last_row)
        kept.events.append(JobEvent(len(kept.events) + 1, kind, json, self.clock()))

    def fenced(self, fence: Fence) -> KeptJob | None:
        """The job whose attempt this still is; None if it is over."""
        kept = self.kept.get(fence.key)
        return None if kept is None or kept.job.fence != fence or kept.job.status.final else kept

    def runs(self, fence: Fence) -> KeptJob | None:
        """The job if it runs as this attempt."""
        kept = self.fenced(fence)
        return None if kept is None or kept.job.status is not JobStatus.RUNNING else kept

    def all_running(self) -> list[KeptJob]:
        """The running jobs of all tenants."""
        return [self.kept[key] for keys in self.running.values() for key in keys]

    def matching(self, wanted: JobFilter) -> Iterator[KeptJob]:
        """The jobs that are meant, newest first, whatever `wanted.limit`."""
        return (kept for kept in reversed(self.kept.values()) if wanted.matches(kept.job))

    def forget_all(self, keys: Iterable[JobKey]) -> None:
        """Wipe jobs."""
        for key in keys:
            self.forget(key)

    def forget(self, key: JobKey) -> None:
        """Wipe a job; what is left is its place in the log over all jobs."""
        kept = self.kept.pop(key)
        self._leave(kept)
        self.spec_documents.release(kept.job.spec_sha256)
        if kept.idempotency_key is not None:
            del self.keys[key.tenant, kept.idempotency_key]
        for topic in kept.deliveries:
            self.pending.pop((topic, key), None)
        bisect.insort(self.gaps, (kept.rows[-1], key))
        if len(self.gaps) > self._gaps_kept_max:
            self.lost_row, _ = self.gaps.pop(0)

    def _enter(self, kept: KeptJob) -> None:
        job = kept.job
        self.statuses[job.status] += 1
        if job.status is JobStatus.QUEUED:
            self.queue.add(kept.place)
            if job.expires_at is not None:
                self.expiring[job.key] = job.expires_at
        elif job.status is JobStatus.RUNNING:
            self.running.setdefault(job.tenant, set()).add(job.key)
        else:
            self.finished[job.key] = None

    def _leave(self, kept: KeptJob) -> None:
        job = kept.job
        self.statuses[job.status] -= 1
        if job.status is JobStatus.QUEUED:
            self.queue.remove(kept.place)
            self.expiring.pop(job.key, None)
        elif job.status is JobStatus.RUNNING:
            self.running[job.tenant].remove(job.key)
            if not self.running[job.tenant]:
                del self.running[job.tenant]
        else:
            del self.finished[job.key]


def queued_again(job: Job, *, crashed: bool) -> Job:
    """The job of an attempt that is over before its end."""
    return replace(
        job, status=JobStatus.QUEUED, owner="", crashes=job.crashes + 1 if crashed else job.crashes
    )
