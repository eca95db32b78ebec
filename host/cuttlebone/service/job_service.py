"""The job service: all that the API, the CLI and tests may ask of the jobs of a host."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Final

from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.execution.queue import JobQueue
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.execution.worker import CANCELLED, ended_while_queued
from cuttlebone.job.delivery import Delivery
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import Job, JobFilter, QueuePlace, Submission, now
from cuttlebone.job.recorded_job import RecordedJob, recorded_job
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.answers import Accepted, KnownBlock, ModelDirectory, ModelStatus, Readiness
from cuttlebone.settings import Limits
from cuttlebone.specs.block_registry import (
    DIGEST_PREFIX,
    BlockRegistry,
    block_in_use,
    summary_of,
    unknown_block,
)
from cuttlebone.specs.catalog import Catalog
from cuttlebone.specs.loading import LoadedSpec
from cuttlebone.store.jobs import RETRY_AFTER_S, JobStore
from cuttlebone.store.watchers import Watchers
from cuttlebone.text import printable
from cuttlebone_abi import JobStatus, dump_json

EVENTS_READ_MAX: Final = 1_000
"""Events that one read of an event log returns at most."""


class JobService:
    """Accepts, shows and cancels jobs. Any thread may call it; no call waits for a job."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        store: JobStore,
        queue: JobQueue,
        watchers: Watchers,
        running: RunningJobs,
        models: ModelDirectory,
        blocks: BlockRegistry,
        tenant_running_max: int | None = None,
        callbacks: CallbackPolicy | None = None,
        metrics: HostMetrics | None = None,
        layers: Mapping[str, str | None] | None = None,
    ) -> None:
        """Without `callbacks` no job may have a callback."""
        self._callbacks = callbacks or CallbackPolicy(())
        self.metrics = metrics or HostMetrics()
        """What this host counts."""
        self._catalog = catalog
        self._store = store
        self._queue = queue
        self._watchers = watchers
        self._running = running
        self._models = models
        self._tenant_running_max = tenant_running_max
        self.blocks = blocks
        """The blocks that were uploaded."""
        self._layers = dict(layers or {})

    def submit(self, submission: Submission, *, idempotency_key: str | None = None) -> Job:
        """Accept a job and return it; raises as `accept` does."""
        self.refresh()
        return self.accept(submission, idempotency_key=idempotency_key)().job

    def refresh(self) -> None:
        """See which specs there are now; raise OperatorError without a folder of specs."""
        self._catalog.refresh()

    def accept(
        self,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        tenant_waiting_max: int | None = None,
    ) -> Callable[[], Accepted]:
        """Check a submission and begin to accept its job, or to find the one of the same request before.

        The specs are those that `refresh` saw last. What is returned waits until the job is
        durable, so that many can be on their way at once. Both raise
        CallerError: unknown_spec, spec_unusable, schema_validation_failed, invalid_body for a
        callback that is not allowed, queue_full, quota_exceeded, idempotency_mismatch, job_exists,
        stopping; and StoreUnavailable.
        """
        loaded = self._catalog.get(submission.spec)
        loaded.io_schemas.check_input(submission.input, f"the spec `{loaded.spec.name}`")
        if submission.callback_url is not None:
            self._callbacks.target(submission.callback_url)
        moment, waits_s = now(), submission.expires_in_s
        written_input = dump_json(submission.input)
        job = Job(
            id=submission.job_id or uuid.uuid4().hex,
            spec=loaded.spec.name,
            input=written_input,
            limits=_narrowed(loaded.limits, submission.limits),
            labels=dict(submission.labels),
            created_at=moment,
            tenant=submission.tenant,
            priority=submission.priority,
            ttl_s=submission.ttl_s,
            expires_at=None if waits_s is None else moment + timedelta(seconds=waits_s),
            recording=submission.record or loaded.spec.record,
            callback_url=submission.callback_url,
            request_sha256=submission.digest(written_input),
        )
        coming = self._queue.put(
            job, idempotency_key=idempotency_key, tenant_waiting_max=tenant_waiting_max
        )

        def accepted() -> Accepted:
            kept = coming.result()
            if kept is job:
                self.metrics.job_accepted(job.spec)
            return Accepted(kept, replayed=kept is not job)

        return accepted

    def get(self, job_id: str, *, tenant: str | None = None) -> Job:
        """Return a job as it stands; raise CallerError `unknown_job`.

        With a `tenant`, the jobs of others are as unknown as those that never were.
        """
        job = self._store.get(job_id)
        if job is None or tenant not in {None, job.tenant}:
            raise CallerError(
                ProblemCode.UNKNOWN_JOB,
                f"there is no job {printable(job_id, chars_max=64)!r}, or it was forgotten",
            )
        return job

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        return self._store.find(wanted)

    def place(self, job: Job) -> QueuePlace | None:
        """Where a queued job stands; None if it is not queued."""
        position = self._store.position(job.id)
        return None if position is None else QueuePlace(position, self._waiting_for(job))

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold on this host. It takes its time."""
        return self._store.stored_bytes(tenant)

    def cancel(self, job_id: str) -> Job:
        """Ask for the end of a job; one that is final already stays as it is. Idempotent."""
        job = self._store.request_cancel(self.get(job_id).id)
        if job is None or job.status.final:
            return self.get(job_id)
        if job.status is JobStatus.QUEUED:
            # If a job thread claims it meanwhile, its attempt is another one and this does nothing.
            envelope = ended_while_queued(CANCELLED)
            if self._store.finish(job_id, attempt=job.attempt, envelope=envelope, accounting=None):
                self.metrics.job_ended(job.spec, envelope.status)
        self._running.stop(job_id, CANCELLED)
        self._watchers.wake(job_id)
        return self.get(job_id)

    def forget(self, job_id: str) -> None:
        """Wipe a final job: input, events, journal, envelope. Raises CallerError, StoreUnavailable.

        `not_final` for a job that has not ended, `unknown_job` for one that is not there.
        """
        job = self.get(job_id)
        if not self._store.forget(job_id) and not self.get(job_id).status.final:
            raise CallerError(
                ProblemCode.NOT_FINAL,
                f"the job is {job.status}; cancel it, or wait for its end, before it is forgotten",
                retry_after_s=RETRY_AFTER_S,
            )
        self._watchers.wake(job_id)

    def deliveries(self, job_id: str) -> Sequence[Delivery]:
        """What was told to the callback of a job, and how that went; raise CallerError `unknown_job`."""
        return self._store.deliveries.of(self.get(job_id).id)

    def journal(self, job_id: str) -> RecordedJob:
        """Return a job with the steps that are recorded so far, in order, to be shown or replayed.

        It is a document of its own (`RecordedJob`): GET /v1/jobs/{id}/journal answers with it as
        it is, `cuttlebone job export` writes it, `cuttlebone replay` reads it. It has the job's
        input, the commands and events that are kept whole, the digests of all, and the envelope
        once there is one. Raises CallerError `unknown_job`.
        """
        return recorded_job(self.get(job_id), self._store.journal(job_id))

    def events(self, job_id: str, *, after: int) -> Sequence[JobEvent]:
        """The next events with numbers above `after`, at most EVENTS_READ_MAX."""
        return self._store.events(job_id, after=after, limit=EVENTS_READ_MAX)

    def watch(self, job_id: str, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `callback`, in any thread, whenever the job or its event log changes."""
        return self._watchers.watch(job_id, callback)

    def specs(self) -> Mapping[str, LoadedSpec]:
        """The specs that are served now."""
        self._catalog.refresh()
        return self._catalog.specs()

    def spec(self, name: str) -> LoadedSpec:
        """Return one spec; raise CallerError `unknown_spec` or `spec_unusable`."""
        self._catalog.refresh()
        return self._catalog.get(name)

    def spec_faults(self) -> Mapping[Path, str]:
        """What is wrong with the spec files that cannot be served."""
        return self._catalog.faults()

    def known_blocks(self) -> Sequence[KnownBlock]:
        """The blocks that were uploaded and those that specs run, by digest."""
        users: dict[str, list[str]] = {}
        found = {one.digest: (one, True) for one in self.blocks.all()}
        for name, loaded in self.specs().items():
            found.setdefault(loaded.block.digest, (summary_of(loaded.block), False))
            users.setdefault(loaded.block.digest, []).append(name)
        return [
            KnownBlock(block, uploaded, tuple(users.get(digest, ())))
            for digest, (block, uploaded) in sorted(found.items())
        ]

    def known_block(self, digits: str) -> KnownBlock:
        """Return the block with that SHA-256; raise CallerError `unknown_block`."""
        served = [
            one for one in self.specs().values() if one.block.digest == DIGEST_PREFIX + digits
        ]
        uploaded = self.blocks.find(digits)
        if uploaded is None and not served:
            raise unknown_block(digits)
        names = tuple(one.spec.name for one in served)
        return KnownBlock(uploaded or summary_of(served[0].block), uploaded is not None, names)

    def forget_block(self, digits: str) -> None:
        """Remove an upload that no spec names by its digest. Raises CallerError, StoreUnavailable.

        `block_in_use` with the names of the specs, also for a block that is no upload but a file of
        theirs; `unknown_block`.
        """
        known = self.known_block(digits)
        file = self.blocks.path(known.block.digest)
        users = self._catalog.naming(file) if known.uploaded else known.specs
        if users:
            raise block_in_use(digits, users, uploaded=known.uploaded)
        if not self.blocks.forget(digits):
            raise unknown_block(digits)

    def models(self) -> Sequence[ModelStatus]:
        """Every role with the state of its model."""
        return self._models.statuses()

    def readiness(self) -> Readiness:
        """Whether everything works that the operator has set up. Faulty specs do not count."""
        statuses = self._models.statuses()
        return Readiness(
            tuple(
                f"the model `{one.role}` is {one.state}" + (f": {one.reason}" if one.reason else "")
                for one in statuses
                if one.state not in ("ready", "unloaded") or one.reason
            ),
            self._layers,
        )

    def _waiting_for(self, job: Job) -> str:
        """What a queued job lacks in order to start, and what it will lack next."""
        if self._tenant_running_max is not None:
            running = JobFilter(
                tenant=job.tenant, status=JobStatus.RUNNING, limit=self._tenant_running_max
            )
            if len(self._store.find(running)) == self._tenant_running_max:
                return "the end of another job of its tenant (`tenant_jobs_running_max`)"
        loaded = self._catalog.specs().get(job.spec)
        role = None if loaded is None else loaded.spec.model
        for model in self._models.statuses():
            if model.role == role and model.state != "ready":
                return f"a free job thread, and the model `{role}`, which is {model.state}"
        return "a free job thread"


def _narrowed(limits: Limits, request: Limits | None) -> Limits:
    return limits if request is None else limits.narrowed(request)
