"""How a job comes into the state, or how the same request is found there."""

from dataclasses import replace

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job
from cuttlebone.store.acceptance import (
    idempotency_mismatch,
    job_exists,
    next_rank_us,
    queue_full,
    tenant_queue_full,
)
from cuttlebone.store.memory.state import QUEUED, KeptJob, MemoryState


def insert(
    state: MemoryState,
    job: Job,
    waiting_max: int,
    tenant_waiting_max: int | None,
    idempotency_key: str | None,
    spec_document: bytes | None,
) -> Job:
    """Keep a queued job, or return the one that the same request made before."""
    with state.lock:
        earlier = _earlier(state, job, idempotency_key)
        if earlier is not None:
            return earlier
        if len(state.queue) >= waiting_max:
            raise queue_full(waiting_max)
        if tenant_waiting_max is not None and state.queue.waiting(job.tenant) >= tenant_waiting_max:
            raise tenant_queue_full(tenant_waiting_max)
        state.accepted += 1
        newest = next(reversed(state.kept.values()), None)
        last = None if newest is None else (newest.rank_us, newest.job.priority)
        rank = next_rank_us(job, last)
        kept = KeptJob(replace(job, number=state.accepted), rank, idempotency_key)
        state.add(kept)
        state.spec_documents.hold(job.spec_sha256, spec_document)
        state.log(kept, EventKind.STATUS, QUEUED)
    state.watchers.wake((job.key,))
    return job


def _earlier(state: MemoryState, job: Job, idempotency_key: str | None) -> Job | None:
    """Find the job that an equal request made; raise CallerError if another request did."""
    same_id = state.kept.get(job.key)
    if same_id is not None:
        if same_id.job.request_sha256 != job.request_sha256:
            raise job_exists(job.id)
        return same_id.job
    same_key = state.keys.get((job.tenant, idempotency_key or ""))
    if same_key is None:
        return None
    found = state.kept[same_key].job
    if found.request_sha256 != job.request_sha256:
        raise idempotency_mismatch()
    return found
