"""The job service: all that anybody may ask of the jobs of a host."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.errors import RETRY_SOON_S, CallerError, ProblemCode
from cuttlebone.execution.admission import Admission
from cuttlebone.execution.ending import JobEnding
from cuttlebone.generation.state import Phase
from cuttlebone.job.delivery import Delivery
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import (
    Admitted,
    Job,
    JobKey,
    JobStatusRow,
    QueuePlace,
    Submission,
)
from cuttlebone.job.job_filter import LIVE, JobFilter
from cuttlebone.job.journal import JournalEntry
from cuttlebone.job.recorded_job import recorded_job_parts
from cuttlebone.service.answers import model_statuses
from cuttlebone.specs.catalog import Catalog
from cuttlebone.store.stores import Stores
from cuttlebone.text import printable

CHANGED_AT_ONCE_MAX: Final = 500
"""Jobs that one commit cancels or wipes: more at once would hold up everything else."""
EVENTS_READ_MAX: Final = 1_000
"""Events that one read of an event log returns at most."""


class JobService:
    """Accepts, shows and cancels jobs. Any thread may call it; no call waits for a job."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        stores: Stores,
        admission: Admission,
        ending: JobEnding,
        endpoints: EndpointDirectory,
        tenant_running_max: int | None = None,
    ) -> None:
        self._catalog = catalog
        self._stores = stores
        self._admission = admission
        self._ending = ending
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

    def get(self, key: JobKey) -> Job:
        """Return a job as it stands, whole; raise CallerError `unknown_job`."""
        job = self._stores.jobs.get(key)
        if job is None:
            raise _unknown_job(key)
        return job

    def status(self, key: JobKey) -> JobStatusRow:
        """Return where a job stands, however large it is; raise CallerError `unknown_job`."""
        found = self._stores.jobs.status(key)
        if found is None:
            raise _unknown_job(key)
        return found

    def find(self, wanted: JobFilter) -> Sequence[Job]:
        """Jobs, newest first, at most `wanted.limit`."""
        return self._stores.jobs.find(wanted)

    def count(self, wanted: JobFilter) -> int:
        """How many jobs are meant, whatever `wanted.limit`."""
        return self._stores.jobs.count(wanted)

    def pending(self, wanted: JobFilter) -> int:
        """How many of the jobs that are meant have not ended."""
        return self._stores.jobs.count(replace(wanted, statuses=LIVE))

    @property
    def secret(self) -> bytes:
        """What is told of the order of jobs is sealed with it; it is kept with them."""
        return self._stores.secret

    def place(self, job: Job) -> QueuePlace | None:
        """Where a queued job stands; None if it is not queued."""
        position = self._stores.jobs.position(job.key)
        return None if position is None else QueuePlace(position, self._waiting_for(job))

    def stored_bytes(self, tenant: str) -> int:
        """What the jobs of a tenant hold on this host. It takes its time."""
        return self._stores.jobs.stored_bytes(tenant)

    def cancel(self, key: JobKey) -> Job:
        """Ask for the end of a job; one that is final already stays as it is. Idempotent."""
        self._ending.cancel(key)
        return self.get(key)

    def cancel_all(self, wanted: JobFilter) -> int:
        """Ask for the end of all jobs that are meant; return how many had not ended and were not asked."""
        return _in_rounds(self._ending.cancel_all, wanted)

    def forget_all(self, wanted: JobFilter) -> int:
        """Wipe all jobs that are meant and have ended; return how many."""
        return _in_rounds(self._stores.jobs.forget_all, wanted)

    def forget(self, key: JobKey) -> None:
        """Wipe a final job: input, events, journal, envelope. Raises CallerError, StoreUnavailable.

        `not_final` for a job that has not ended, `unknown_job` for one that is not there.
        """
        job = self.status(key)
        if not self._stores.jobs.forget(key) and not self.status(key).status.final:
            raise CallerError(
                ProblemCode.NOT_FINAL,
                f"the job is {job.status}; cancel it, or wait for its end, before it is forgotten",
                retry_after_s=RETRY_SOON_S,
            )

    def deliveries(self, key: JobKey) -> Sequence[Delivery]:
        """What was told to the callback of a job, and how that went; raise CallerError `unknown_job`."""
        return self._stores.outbox.of(self.status(key).key)

    def journal(self, key: JobKey) -> Iterator[bytes]:
        """A job with the steps that are recorded so far, in order, to be shown or replayed: in parts.

        It is a document of its own (`RecordedJob`): GET /v1/jobs/{id}/journal answers with it as
        it is, `cuttlebone job export` writes it, `cuttlebone replay` reads it. It has the job's
        input, the commands and events that are kept whole, the digests of all, and the envelope
        once there is one. Raises CallerError `unknown_job`, also between two parts.
        """
        job = self.get(key)
        return recorded_job_parts(job, self._steps(key, self._stores.journal.last_step(key)))

    def events(self, key: JobKey, *, after: int) -> Sequence[JobEvent]:
        """The next events with numbers above `after`, at most EVENTS_READ_MAX."""
        return self._stores.events.read(key, after=after, limit=EVENTS_READ_MAX)

    def event(self, key: JobKey, number: int) -> JobEvent:
        """One event of a job; raise CallerError `unknown_event`."""
        found = self._stores.events.read(key, after=number - 1, limit=1)
        if not found or found[0].number != number:
            raise CallerError(
                ProblemCode.UNKNOWN_EVENT,
                f"the job has no event {number}, or it was forgotten; "
                "GET /v1/jobs/{id}/events tells which there are",
            )
        return found[0]

    def watch(self, key: JobKey, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `callback`, in any thread, whenever the job or its event log has changed."""
        return self._stores.events.subscribe(key, callback)

    def _steps(self, key: JobKey, last: int) -> Iterator[JournalEntry]:
        """The entries up to a step, as the reader takes them."""
        step = 0
        while step < last:
            page = self._stores.journal.read(key, after=step)
            if not page:
                raise _unknown_job(key)  # it was forgotten meanwhile
            yield from (entry for entry in page if entry.step <= last)
            step = page[-1].step

    def watch_all(self, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `callback`, in any thread, whenever any job or its event log has changed."""
        return self._stores.events.subscribe(None, callback)

    def _waiting_for(self, job: Job) -> str:
        """What a queued job lacks in order to start, and what it will lack next."""
        running_max = self._tenant_running_max
        if running_max is not None and self._stores.jobs.running(job.tenant) >= running_max:
            return "the end of another job of its tenant (`tenant_jobs_running_max`)"
        served = self._catalog.specs().get(job.spec)
        # Another version than the job was accepted for may name another model, so none is named then.
        same = served is not None and job.spec_sha256 in {None, served.sha256}
        role = served.spec.model if served is not None and same else None
        for model in model_statuses(self._endpoints):
            if model.role == role and model.state is not Phase.READY:
                return f"a free job thread, and the model `{role}`, which is {model.state}"
        return "a free job thread"


def _in_rounds(change: Callable[[JobFilter], int], wanted: JobFilter) -> int:
    some = replace(wanted, limit=CHANGED_AT_ONCE_MAX)
    changed = last = change(some)
    while last == CHANGED_AT_ONCE_MAX:
        last = change(some)
        changed += last
    return changed


def _unknown_job(key: JobKey) -> CallerError:
    return CallerError(
        ProblemCode.UNKNOWN_JOB,
        f"there is no job {printable(key.id, chars_max=64)!r}, or it was forgotten",
    )
