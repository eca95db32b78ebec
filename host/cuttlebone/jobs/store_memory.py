"""The job store in memory: for tests and for hosts that need not survive a restart."""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from cuttlebone.jobs.events import EventKind, JobEvent
from cuttlebone.jobs.job import Accounting, Job, JobFilter, now
from cuttlebone_abi import Envelope, JobStatus, Json


class MemoryJobStore:
    """Keeps jobs in dictionaries, the oldest finished ones only up to `kept_max`.

    Any thread may call it; one lock guards everything. The queue holds exactly the ids of
    the queued jobs, oldest first.
    """

    def __init__(self, *, kept_max: int) -> None:
        self._kept_max = kept_max
        self._jobs: dict[str, Job] = {}
        self._events: dict[str, list[JobEvent]] = {}
        self._queue: OrderedDict[str, None] = OrderedDict()
        self._finished: deque[str] = deque()
        self._lock = threading.Lock()

    def accept(self, job: Job, *, waiting_max: int) -> bool:
        """Keep a queued job, or return False if `waiting_max` jobs wait already."""
        with self._lock:
            if len(self._queue) >= waiting_max:
                return False
            self._jobs[job.id] = job
            self._events[job.id] = []
            self._queue[job.id] = None
            self._append(job.id, EventKind.STATUS, {"status": JobStatus.QUEUED})
            return True

    def claim(self) -> Job | None:
        """Move the oldest queued job to running, as its next attempt."""
        with self._lock:
            if not self._queue:
                return None
            job_id, _ = self._queue.popitem(last=False)
            job = self._jobs[job_id]
            running = replace(
                job, status=JobStatus.RUNNING, attempt=job.attempt + 1, started_at=now()
            )
            self._jobs[job_id] = running
            self._append(job_id, EventKind.STATUS, {"status": JobStatus.RUNNING})
            return running

    def get(self, job_id: str) -> Job | None:
        """The job as it stands."""
        with self._lock:
            return self._jobs.get(job_id)

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        with self._lock:
            newest_first = list(reversed(self._jobs.values()))
        if wanted.before is not None:
            ids = [job.id for job in newest_first]
            cut = ids.index(wanted.before) + 1 if wanted.before in ids else len(ids)
            newest_first = newest_first[cut:]
        return list(islice((job for job in newest_first if _matches(job, wanted)), wanted.limit))

    def position(self, job_id: str) -> int | None:
        """How many queued jobs go before this queued one; None if it is not queued."""
        with self._lock:
            if job_id not in self._queue:
                return None
            return next(at for at, waiting in enumerate(self._queue) if waiting == job_id)

    def waiting(self) -> int:
        """How many jobs are queued."""
        with self._lock:
            return len(self._queue)

    def append(self, job_id: str, kind: EventKind, data: Json) -> None:
        """Add to the event log of a running job; a progress event becomes the job's progress too."""
        with self._lock:
            job = self._jobs[job_id]
            if kind is EventKind.PROGRESS:
                self._jobs[job_id] = replace(job, progress=data)
            self._append(job_id, kind, data)

    def events(self, job_id: str, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        with self._lock:
            return self._events.get(job_id, [])[after : after + limit]

    def request_cancel(self, job_id: str) -> Job | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.status.final:
                return job
            marked = replace(job, cancel_requested=True)
            self._jobs[job_id] = marked
            return marked

    def finish(
        self, job_id: str, *, attempt: int, envelope: Envelope, accounting: Accounting | None
    ) -> bool:
        """Make the job final, if it is not yet and this is still its attempt (compare and set)."""
        with self._lock:
            job = self._jobs[job_id]
            if job.status.final or job.attempt != attempt:
                return False
            status = JobStatus(envelope.status)
            self._jobs[job_id] = replace(
                job,
                status=status,
                finished_at=now(),
                envelope=envelope,
                accounting=accounting,
            )
            self._queue.pop(job_id, None)
            self._append(job_id, EventKind.STATUS, {"status": status})
            self._append(job_id, EventKind.RESULT, envelope.model_dump(mode="json"))
            self._finished.append(job_id)
            self._forget_oldest()
            return True

    def _append(self, job_id: str, kind: EventKind, data: Json) -> None:
        log = self._events[job_id]
        log.append(JobEvent(len(log) + 1, kind, data, now()))

    def _forget_oldest(self) -> None:
        while len(self._finished) > self._kept_max:
            oldest = self._finished.popleft()
            del self._jobs[oldest]
            del self._events[oldest]


def _matches(job: Job, wanted: JobFilter) -> bool:
    if wanted.status is not None and job.status is not wanted.status:
        return False
    if wanted.spec is not None and job.spec != wanted.spec:
        return False
    if wanted.label is None:
        return True
    key, value = wanted.label
    return job.labels.get(key) == value
