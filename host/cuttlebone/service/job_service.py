"""The job service: all that anybody may ask of the jobs of a host."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Final

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.errors import RETRY_SOON_S, CallerError, ProblemCode
from cuttlebone.execution.admission import Admission
from cuttlebone.execution.ending import JobEnding
from cuttlebone.generation.state import Phase
from cuttlebone.job.delivery import Delivery
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import Admitted, Job, JobFilter, QueuePlace, Submission
from cuttlebone.job.recorded_job import RecordedJob, recorded_job
from cuttlebone.service.answers import model_statuses
from cuttlebone.specs.catalog import Catalog
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.watchers import Watchers
from cuttlebone.text import printable
from cuttlebone_abi import JobStatus

EVENTS_READ_MAX: Final = 1_000
"""Events that one read of an event log returns at most."""


class JobService:
    """Accepts, shows and cancels jobs. Any thread may call it; no call waits for a job."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        store: JobStore,
        admission: Admission,
        ending: JobEnding,
        watchers: Watchers,
        endpoints: EndpointDirectory,
        tenant_running_max: int | None = None,
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._admission = admission
        self._ending = ending
        self._watchers = watchers
        self._endpoints = endpoints
        self._tenant_running_max = tenant_running_max

    def submit(self, submission: Submission, *, idempotency_key: str | None = None) -> Job:
        """Accept a job and return it; raises as `admit` does."""
        self.refresh()
        return self.admit(submission, idempotency_key=idempotency_key).result().job

    def refresh(self) -> None:
        """See which specs there are now; raise OperatorError without a folder of specs."""
        self._catalog.refresh()

    def admit(
        self,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        tenant_waiting_max: int | None = None,
    ) -> Future[Admitted]:
        """Begin to accept a job, under the specs that `refresh` saw last; see `Admission.admit`."""
        return self._admission.admit(
            submission, idempotency_key=idempotency_key, tenant_waiting_max=tenant_waiting_max
        )

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
        self._ending.cancel(self.get(job_id).id)
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
                retry_after_s=RETRY_SOON_S,
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
        for model in model_statuses(self._endpoints):
            if model.role == role and model.state is not Phase.READY:
                return f"a free job thread, and the model `{role}`, which is {model.state}"
        return "a free job thread"
