"""The job store in memory: for tests and for hosts that need not survive a restart."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from cuttlebone.errors import CallerError
from cuttlebone.job.delivery import Delivery, DeliveryState
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Accounting, Fence, Job, JobKey, JobStatusRow
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.store.jobs import POSITION_MAX
from cuttlebone.store.leases import lease_end, may_take
from cuttlebone.store.memory.insertion import insert
from cuttlebone.store.memory.state import QUEUED, KeptJob, MemoryState, queued_again
from cuttlebone.store.outbox import receiver_of, topics_of
from cuttlebone_abi import Envelope, JobStatus, Json, dump_json


class MemoryJobs:
    """Keeps jobs in dictionaries, the oldest finished ones only up to `kept_max`. See `JobStore`."""

    def __init__(self, state: MemoryState, *, owner: str, kept_max: int) -> None:
        self._state = state
        self._owner = owner
        self._kept_max = kept_max

    def insert(
        self,
        job: Job,
        *,
        waiting_max: int,
        tenant_waiting_max: int | None = None,
        idempotency_key: str | None = None,
        spec_document: bytes | None = None,
    ) -> Future[Job]:
        """Keep a queued job and give it, or the one that the same request made before."""
        inserted: Future[Job] = Future()
        try:
            kept = insert(
                self._state, job, waiting_max, tenant_waiting_max, idempotency_key, spec_document
            )
        except CallerError as error:
            inserted.set_exception(error)
        else:
            inserted.set_result(kept)
        return inserted

    def claim(self, *, tenant_running_max: int | None = None) -> Job | None:
        """Move the queued job that is first in line to running, as its next attempt, with a lease."""
        state = self._state
        with state.lock:
            first = state.queue.first(self._busy_tenants(tenant_running_max))
            if first is None:
                return None
            kept, moment = state.kept[first], state.clock()
            job = kept.job
            running = replace(
                job,
                status=JobStatus.RUNNING,
                attempt=job.attempt + 1,
                started_at=job.started_at or max(moment, job.created_at),
                owner=self._owner,
            )
            state.move(kept, running)
            kept.lease_end = lease_end(moment)
            told: Json = {"status": running.status, "attempt": running.attempt}
            state.log(kept, EventKind.STATUS, dump_json(told))
        state.watchers.wake((first,))
        return running

    def _busy_tenants(self, running_max: int | None) -> frozenset[str]:
        if running_max is None:
            return frozenset()
        running = self._state.running
        return frozenset(tenant for tenant, keys in running.items() if len(keys) >= running_max)

    def renew(self) -> None:
        """Say that what this owner runs is still being run."""
        with self._state.lock:
            until = lease_end(self._state.clock())
            for kept in self._state.all_running():
                if kept.job.owner == self._owner:
                    kept.lease_end = until

    def recover(self) -> Sequence[Job]:
        """Queue again what nobody runs any more; return these jobs, each with one crash more."""
        state = self._state
        with state.lock:
            moment, recovered = state.clock(), []
            for kept in state.all_running():
                until, owner = kept.lease_end or moment, kept.job.owner
                if may_take(self._owner, owner=owner, until=until, moment=moment):
                    self._queue_again(kept, crashed=True)
                    recovered.append(kept.job)
        state.watchers.wake(job.key for job in recovered)
        return recovered

    def release(self, fence: Fence) -> None:
        """Put a running attempt back to its place in the queue."""
        with self._state.lock:
            kept = self._state.runs(fence)
            if kept is not None:
                self._queue_again(kept, crashed=False)
        self._state.watchers.wake((fence.key,))

    def _queue_again(self, kept: KeptJob, *, crashed: bool) -> None:
        self._state.move(kept, queued_again(kept.job, crashed=crashed))
        kept.lease_end = None
        self._state.log(kept, EventKind.STATUS, QUEUED)

    def finish(self, fence: Fence, *, envelope: Envelope, accounting: Accounting | None) -> bool:
        """Make the job final with all that follows, if that is still its attempt."""
        with self._state.lock:
            ended = self._finish(fence, envelope, accounting)
        if ended:
            self._state.watchers.wake((fence.key,))
        return ended

    def finish_all(self, fences: Sequence[Fence], *, envelope: Envelope) -> Sequence[bool]:
        """Make jobs final that never ran, all with one envelope; return which of them were still there."""
        with self._state.lock:
            ended = [self._finish(fence, envelope, None) for fence in fences]
        self._state.watchers.wake(
            fence.key for fence, now_final in zip(fences, ended, strict=True) if now_final
        )
        return ended

    def _finish(self, fence: Fence, envelope: Envelope, accounting: Accounting | None) -> bool:
        state = self._state
        kept = state.fenced(fence)
        if kept is None:
            return False
        self._end(kept, envelope, accounting)
        while len(state.finished) > self._kept_max:
            state.forget(next(iter(state.finished)))
        return True

    def _end(self, kept: KeptJob, envelope: Envelope, accounting: Accounting | None) -> None:
        status, moment = JobStatus(envelope.status), self._state.clock()
        ended = replace(
            kept.job,
            status=status,
            owner="",
            finished_at=max(moment, kept.job.created_at, kept.job.started_at or moment),
            envelope=envelope,
            accounting=accounting,
        )
        self._state.move(kept, ended)
        kept.lease_end = None
        kept.parts.clear()
        told: Json = {"status": status}
        self._state.log(kept, EventKind.STATUS, dump_json(told))
        self._state.log(kept, EventKind.RESULT, dump_json(envelope))
        for topic in topics_of(ended.callback_url):
            kept.deliveries[topic] = Delivery(
                id=uuid.uuid4().hex,
                key=ended.key,
                topic=topic,
                state=DeliveryState.PENDING,
                created_at=moment,
                next_attempt_at=moment,
                receiver=receiver_of(ended.callback_url),
            )
            self._state.pending[topic, ended.key] = None

    def request_cancel_all(self, wanted: JobFilter) -> Sequence[JobStatusRow]:
        """Mark jobs that are not final and not marked, at most `wanted.limit`; return them."""
        with self._state.lock:
            fresh = (
                kept
                for kept in self._state.matching(wanted)
                if not kept.job.status.final and not kept.job.cancel_requested
            )
            marked = list(islice(fresh, wanted.limit))
            for kept in marked:
                kept.job = replace(kept.job, cancel_requested=True)
            rows = [kept.status_row() for kept in marked]
        self._state.watchers.wake(row.key for row in rows)
        return rows

    def request_cancel(self, key: JobKey) -> JobStatusRow | None:
        """Mark a job that is not final; a queued one can be finished at once by `finish`."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            if kept is None:
                return None
            if not kept.job.status.final:
                kept.job = replace(kept.job, cancel_requested=True)
            found = kept.status_row()
        self._state.watchers.wake((key,))
        return found

    def forget(self, key: JobKey) -> bool:
        """Wipe a final job with its events and journal; return False if it is not final."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            if kept is None or not kept.job.status.final:
                return False
            self._state.forget(key)
        self._state.watchers.wake((key,))
        return True

    def forget_all(self, wanted: JobFilter) -> int:
        """Wipe final jobs, at most `wanted.limit`; return how many."""
        with self._state.lock:
            final = (kept.job for kept in self._state.matching(wanted) if kept.job.status.final)
            over = [job.key for job in islice(final, wanted.limit)]
            self._state.forget_all(over)
        self._state.watchers.wake(over)
        return len(over)

    def forget_finished_before(self, moment: datetime, *, ttl_s: int) -> int:
        """Wipe the final jobs whose time to live, `ttl_s` if they have none, ended before `moment`."""
        with self._state.lock:
            finished = (self._state.kept[key].job for key in self._state.finished)
            over = [
                job.key
                for job in finished
                if job.finished_at is not None
                and job.finished_at + timedelta(seconds=job.ttl_s or ttl_s) < moment
            ]
            self._state.forget_all(over)
        self._state.watchers.wake(over)
        return len(over)

    def get(self, key: JobKey) -> Job | None:
        """The job as it stands, whole."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return None if kept is None else kept.job

    def status(self, key: JobKey) -> JobStatusRow | None:
        """Where the job stands."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return None if kept is None else kept.status_row()

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        with self._state.lock:
            return [kept.job for kept in islice(self._state.matching(wanted), wanted.limit)]

    def count(self, wanted: JobFilter) -> int:
        """How many jobs are meant, whatever `wanted.limit`."""
        with self._state.lock:
            return sum(1 for _ in self._state.matching(wanted))

    def position(self, key: JobKey) -> int | None:
        """How many queued jobs of its tenant go before this queued one; None if it is not queued."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            if kept is None or kept.job.status is not JobStatus.QUEUED:
                return None
            return min(self._state.queue.before(kept.place), POSITION_MAX)

    def expired(self, moment: datetime) -> Sequence[JobStatusRow]:
        """The queued jobs that were not to wait beyond `moment`."""
        with self._state.lock:
            over = [key for key, until in self._state.expiring.items() if until <= moment]
            return [self._state.kept[key].status_row() for key in over]

    def waiting(self) -> int:
        """How many jobs are queued."""
        with self._state.lock:
            return len(self._state.queue)

    def running(self, tenant: str) -> int:
        """How many jobs of a tenant run."""
        with self._state.lock:
            return len(self._state.running.get(tenant, ()))

    def counts(self) -> Mapping[JobStatus, int]:
        """How many jobs there are in each status."""
        with self._state.lock:
            return {status: self._state.statuses[status] for status in JobStatus}

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold: inputs, events, journals, envelopes."""
        with self._state.lock:
            return sum(
                kept.size_bytes() for key, kept in self._state.kept.items() if key.tenant == tenant
            )

    def spec_document(self, sha256: str) -> bytes | None:
        """The document of a spec that jobs were accepted for; None if no job names it."""
        with self._state.lock:
            return self._state.spec_documents.get(sha256)

    def unfinished_by_spec(self) -> Mapping[str, int]:
        """How many jobs that have not ended name each `spec_sha256`."""
        with self._state.lock:
            jobs = [kept.job for kept in self._state.kept.values() if not kept.job.status.final]
        return Counter(job.spec_sha256 for job in jobs if job.spec_sha256 is not None)
