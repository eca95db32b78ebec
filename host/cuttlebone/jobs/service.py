"""The job service: all that the API, the CLI and tests may ask of the jobs of a host."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from cuttlebone.errors import CallerError, FieldFault, ProblemCode
from cuttlebone.jobs.catalog import Catalog, LoadedSpec
from cuttlebone.jobs.events import JobEvent, Watchers
from cuttlebone.jobs.job import Job, JobFilter, QueuePlace, Submission, now
from cuttlebone.jobs.queue import JobQueue
from cuttlebone.jobs.recorded import RecordedJob, recorded_job
from cuttlebone.jobs.running import RunningJobs
from cuttlebone.jobs.store import JobStore
from cuttlebone.jobs.worker import CANCELLED, ended_while_queued
from cuttlebone.settings import Limits
from cuttlebone.text import printable
from cuttlebone_abi import JobStatus

EVENTS_READ_MAX: Final = 1_000
"""Events that one read of an event log returns at most."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model as the API shows it."""

    role: str
    state: str
    """`loading`, `ready` or `failed`."""
    reason: str
    """Why it failed, else empty."""
    file: str
    context_tokens: int | None
    """None until it is loaded."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the host can serve all that it is set up to serve, and why not."""

    reasons: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether there is no reason against it."""
        return not self.reasons


class ModelDirectory(Protocol):
    """Knows the models of the host."""

    def statuses(self) -> Sequence[ModelStatus]:
        """Every role with the state of its model."""


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
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._queue = queue
        self._watchers = watchers
        self._running = running
        self._models = models

    def submit(self, submission: Submission, *, idempotency_key: str | None = None) -> Job:
        """Accept a job and return it, or the one that the same request made before.

        Raises CallerError: unknown_spec, spec_unusable, schema_validation_failed, queue_full,
        idempotency_mismatch, job_exists, stopping; and StoreUnavailable.
        """
        self._catalog.refresh()
        loaded = self._catalog.get(submission.spec)
        faults = loaded.shapes.input_faults(submission.input)
        if faults:
            raise CallerError(
                ProblemCode.SCHEMA_VALIDATION_FAILED,
                f"the input does not fit the spec `{loaded.spec.name}`: "
                f"{faults[0].pointer or '(the whole input)'}: {faults[0].message}",
                faults=tuple(
                    FieldFault("/input" + fault.pointer, fault.message) for fault in faults
                ),
            )
        moment, waits_s = now(), submission.expires_in_s
        job = Job(
            id=submission.job_id or uuid.uuid4().hex,
            spec=loaded.spec.name,
            input=submission.input,
            limits=_narrowed(loaded.limits, submission.limits),
            labels=dict(submission.labels),
            created_at=moment,
            tenant=submission.tenant,
            priority=submission.priority,
            ttl_s=submission.ttl_s,
            expires_at=None if waits_s is None else moment + timedelta(seconds=waits_s),
            recording=submission.record or loaded.spec.record,
            request_sha256=submission.digest(),
        )
        return self._queue.put(job, idempotency_key=idempotency_key)

    def get(self, job_id: str) -> Job:
        """Return a job as it stands; raise CallerError `unknown_job`."""
        job = self._store.get(job_id)
        if job is None:
            raise CallerError(
                ProblemCode.UNKNOWN_JOB,
                f"there is no job {printable(job_id, chars_max=64)!r}, or it was forgotten",
            )
        return job

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        return self._store.find(wanted)

    def place(self, job_id: str) -> QueuePlace | None:
        """Where a queued job stands; None if it is not queued."""
        position = self._store.position(job_id)
        return None if position is None else QueuePlace(position, "a free job thread")

    def cancel(self, job_id: str) -> Job:
        """Ask for the end of a job; one that is final already stays as it is. Idempotent."""
        job = self._store.request_cancel(self.get(job_id).id)
        if job is None or job.status.final:
            return self.get(job_id)
        if job.status is JobStatus.QUEUED:
            # If a job thread claims it meanwhile, its attempt is another one and this does nothing.
            self._store.finish(
                job_id,
                attempt=job.attempt,
                envelope=ended_while_queued(CANCELLED),
                accounting=None,
            )
        self._running.stop(job_id, CANCELLED)
        self._watchers.wake(job_id)
        return self.get(job_id)

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
                if one.state != "ready"
            )
        )


def _narrowed(limits: Limits, request: Limits | None) -> Limits:
    return limits if request is None else limits.narrowed(request)
