"""The job store in memory: for tests and for hosts that need not survive a restart."""

import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count, islice

from cuttlebone.errors import CallerError
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Accounting, Job, JobFilter, now
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.store.jobs import (
    idempotency_mismatch,
    job_exists,
    queue_full,
    tenant_queue_full,
)
from cuttlebone.store.memory.logs import Logs
from cuttlebone.store.memory.outbox import MemoryDeliveries
from cuttlebone.store.memory.queue_order import QueueOrder, busy_tenants
from cuttlebone.store.memory.spec_documents import SpecDocuments
from cuttlebone_abi import Envelope, JobStatus, Json


class MemoryJobStore:
    """Keeps jobs in dictionaries, the oldest finished ones only up to `kept_max`.

    Any thread may call it; one lock guards everything. Invariants: `_queue_order` holds exactly the
    queued jobs; `_finished` has the final ones, the oldest first.
    """

    durable = False

    def __init__(self, *, kept_max: int) -> None:
        self.deliveries = MemoryDeliveries()
        self._kept_max = kept_max
        self._jobs: dict[str, Job] = {}
        self._logs = Logs()
        self._queue_order = QueueOrder()
        self._keys: dict[tuple[str, str], str] = {}
        self._spec_documents = SpecDocuments()
        self._finished: deque[str] = deque()
        self._accepted = count(1)
        self._lock = threading.Lock()

    def accept(
        self,
        job: Job,
        *,
        waiting_max: int,
        tenant_waiting_max: int | None = None,
        idempotency_key: str | None = None,
        spec_document: bytes | None = None,
    ) -> Future[Job]:
        """Keep a queued job and give it, or the one that the same request made before."""
        accepted: Future[Job] = Future()
        try:
            kept = self._accept(
                job, waiting_max, tenant_waiting_max, idempotency_key, spec_document
            )
        except CallerError as error:
            accepted.set_exception(error)
        else:
            accepted.set_result(kept)
        return accepted

    def _accept(
        self,
        job: Job,
        waiting_max: int,
        tenant_waiting_max: int | None,
        idempotency_key: str | None,
        spec_document: bytes | None,
    ) -> Job:
        with self._lock:
            earlier = self._earlier(job, idempotency_key)
            if earlier is not None:
                return earlier
            if len(self._queue_order) >= waiting_max:
                raise queue_full(waiting_max)
            if tenant_waiting_max is not None and self._waiting(job.tenant) >= tenant_waiting_max:
                raise tenant_queue_full(tenant_waiting_max)
            kept = self._jobs[job.id] = replace(job, number=next(self._accepted))
            self._queue_order.add(kept)
            self._spec_documents.hold(job.spec_sha256, spec_document)
            if idempotency_key is not None:
                self._keys[job.tenant, idempotency_key] = job.id
            self._logs.append(job.id, EventKind.STATUS, {"status": JobStatus.QUEUED})
            return job

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt."""
        with self._lock:
            passed_over = busy_tenants(self._jobs.values(), tenant_running_max)
            queued = map(self._jobs.__getitem__, self._queue_order)
            job = next((one for one in queued if one.tenant not in passed_over), None)
            if job is None:
                return None
            job_id = job.id
            self._queue_order.remove(job_id)
            running = replace(
                job,
                status=JobStatus.RUNNING,
                attempt=job.attempt + 1,
                started_at=job.started_at or now(),
            )
            self._jobs[job_id] = running
            told = {"status": running.status, "attempt": running.attempt}
            self._logs.append(job_id, EventKind.STATUS, told)
            return running

    def get(self, job_id: str) -> Job | None:
        """The job as it stands."""
        with self._lock:
            return self._jobs.get(job_id)

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        with self._lock:
            newest_first = list(reversed(self._jobs.values()))
        return list(islice((job for job in newest_first if wanted.matches(job)), wanted.limit))

    def position(self, job_id: str) -> int | None:
        """How many queued jobs go before this queued one; None if it is not queued."""
        with self._lock:
            ids = list(self._queue_order)
        return ids.index(job_id) if job_id in ids else None

    def waiting(self) -> int:
        """How many jobs are queued."""
        with self._lock:
            return len(self._queue_order)

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""
        with self._lock:
            found = Counter(job.status for job in self._jobs.values())
        return {status: found[status] for status in JobStatus}

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes."""
        with self._lock:
            return sum(
                self._logs.size_bytes(job) for job in self._jobs.values() if job.tenant == tenant
            )

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""
        with self._lock:
            return self._spec_documents.get(sha256)

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`."""
        with self._lock:
            return Counter(
                job.spec_sha256
                for job in self._jobs.values()
                if job.spec_sha256 is not None and not job.status.final
            )

    def append(self, job: Job, kind: EventKind, data: Json, *, after: Callable[[], None]) -> None:
        """Add to the event log of a running attempt and call `after` once it can be read."""
        with self._lock:
            if self._runs(job):
                if kind is EventKind.PROGRESS:
                    self._jobs[job.id] = replace(self._jobs[job.id], progress=data)
                self._logs.append(job.id, kind, data)
        after()

    def events(self, job_id: str, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        with self._lock:
            return self._logs.events(job_id, after=after, limit=limit)

    def count_events(self, job_id: str, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""
        with self._lock:
            return sum(event.kind is kind for event in self._logs.events(job_id))

    def record(self, job: Job, entry: JournalEntry) -> None:
        """Keep one entry of the journal of a running attempt."""
        with self._lock:
            if self._runs(job):
                self._logs.record(job.id, entry)

    def record_part(self, job: Job, part: JournalPart) -> None:
        """Keep one generation of an `infer_many` of a running attempt."""
        with self._lock:
            if self._runs(job):
                self._logs.record_part(job.id, part)

    def journal(self, job_id: str) -> Sequence[JournalEntry]:
        """All entries, in order."""
        with self._lock:
            return self._logs.journal(job_id)

    def journal_parts(self, job_id: str) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""
        with self._lock:
            return self._logs.parts(job_id)

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
            self._queue_order.remove(job_id)
            self._logs.forget_parts(job_id)
            self._logs.append(job_id, EventKind.STATUS, {"status": status})
            self._logs.append(job_id, EventKind.RESULT, envelope.model_dump(mode="json"))
            if job.callback_url is not None:
                self.deliveries.add(job_id, uuid.uuid4().hex, job.callback_url)
            self._finished.append(job_id)
            while len(self._finished) > self._kept_max:
                self._forget(self._finished[0])
            return True

    def release(self, job: Job) -> None:
        """Put a running attempt back to its place in the queue."""
        with self._lock:
            if self._runs(job):
                self._jobs[job.id] = replace(self._jobs[job.id], status=JobStatus.QUEUED)
                self._queue_order.add(self._jobs[job.id])
                self._logs.append(job.id, EventKind.STATUS, {"status": JobStatus.QUEUED})

    def forget(self, job_id: str) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or not job.status.final:
                return False
            self._forget(job_id)
            return True

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""
        with self._lock:
            over = [
                job.id
                for job in map(self._jobs.__getitem__, self._finished)
                if job.finished_at is not None
                and job.finished_at + timedelta(seconds=job.ttl_s or ttl_s) < moment
            ]
            for job_id in over:
                self._forget(job_id)
            return len(over)

    def expired(self, moment: datetime) -> Sequence[Job]:
        """The queued jobs that were not to wait beyond `moment`."""
        with self._lock:
            queued = [self._jobs[job_id] for job_id in self._queue_order]
        return [job for job in queued if job.expires_at is not None and job.expires_at <= moment]

    def recover(self) -> Sequence[Job]:
        """Nothing survives a restart, so nothing runs at a start."""
        return ()

    def hurry(self) -> None:
        """Nothing is ever tried again."""

    def close(self) -> None:
        """Nothing is outstanding; what is kept can still be read."""

    def _earlier(self, job: Job, idempotency_key: str | None) -> Job | None:
        """Find the job that an equal request made; raise CallerError if another request did."""
        same_id = self._jobs.get(job.id)
        if same_id is not None:
            if (same_id.request_sha256, same_id.tenant) != (job.request_sha256, job.tenant):
                raise job_exists(job.id)
            return same_id
        same_key = self._keys.get((job.tenant, idempotency_key or ""))
        if same_key is None:
            return None
        if self._jobs[same_key].request_sha256 != job.request_sha256:
            raise idempotency_mismatch()
        return self._jobs[same_key]

    def _waiting(self, tenant: str) -> int:
        return sum(self._jobs[job_id].tenant == tenant for job_id in self._queue_order)

    def _runs(self, job: Job) -> bool:
        current = self._jobs[job.id]
        return current.status is JobStatus.RUNNING and current.attempt == job.attempt

    def _forget(self, job_id: str) -> None:
        self._finished.remove(job_id)
        self.deliveries.forget(job_id)
        self._logs.forget(job_id)
        self._spec_documents.release(self._jobs.pop(job_id).spec_sha256)
        self._keys = {key: kept for key, kept in self._keys.items() if kept != job_id}
