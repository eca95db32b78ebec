"""Ends jobs: the envelope of one that was stopped, and the one place where any job is finished, counted and told."""

from typing import Final

import structlog

from cuttlebone.errors import JobError
from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.job.job import Accounting, Job, JobKey, JobStatusRow
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.jobs import JobStore
from cuttlebone_abi import (
    Cancelled,
    Completed,
    Envelope,
    ErrorCode,
    Failed,
    Failure,
    JobStatus,
    Usage,
)

CANCELLED: Final = JobError(ErrorCode.CANCELLED, "cancelled by request")
STOPPING: Final = JobError(ErrorCode.CANCELLED, "cancelled: the host is stopping")
EXPIRED: Final = JobError(
    ErrorCode.TIMEOUT, "expires_in_s: the job waited longer than its submitter allowed"
)

NO_USAGE: Final = Usage(tokens_in=0, tokens_out=0, duration_ms=0, model="")
"""That of a job which never ran."""

_log = structlog.get_logger(__name__)


def stopped(cause: JobError, usage: Usage) -> Envelope:
    """The envelope of a job that was ended from outside."""
    failure = Failure(code=cause.code, message=cause.message)
    if cause.code is ErrorCode.CANCELLED:
        return Cancelled(error=failure, usage=usage)
    return Failed(error=failure, usage=usage)


class JobEnding:
    """Ends the jobs of a host, each once. Any thread may use it.

    Whoever finds the end, the store decides by comparing the attempt whose end it is; that one is
    counted and logged, and lets go of the spec that it was accepted for.
    """

    def __init__(
        self, jobs: JobStore, specs: AcceptedSpecs, running: RunningJobs, metrics: HostMetrics
    ) -> None:
        self._jobs = jobs
        self._specs = specs
        self._running = running
        self._metrics = metrics

    def end(self, job: Job, envelope: Envelope, accounting: Accounting | None = None) -> bool:
        """Make this attempt final; False if it is over already.

        Raises StoreUnavailable as `JobStore.finish` does.
        """
        if not self._finished(job, envelope, accounting):
            return False
        if accounting is None:
            self._metrics.job_ended(job.spec, envelope.status)
            return True
        self._metrics.job_ended(
            job.spec,
            envelope.status,
            queued_s=accounting.queue_ms / 1000,
            running_s=envelope.usage.duration_ms / 1000,
            guest_s=accounting.guest_ms / 1000,
        )
        return True

    def end_waiting(self, job: Job | JobStatusRow, cause: JobError) -> bool:
        """End a job that waits; False, and nothing done, if it was started meanwhile."""
        envelope = stopped(cause, NO_USAGE)
        if not self._finished(job, envelope, None):
            return False
        self._metrics.job_ended(job.spec, envelope.status)
        return True

    def cancel(self, key: JobKey) -> None:
        """Ask for the end of a job; one that is final already stays as it is. Idempotent."""
        job = self._jobs.request_cancel(key)
        if job is None or job.status.final:
            return
        if job.status is JobStatus.QUEUED:
            self.end_waiting(job, CANCELLED)
        self._running.stop(key, CANCELLED)

    def cancel_all(self, wanted: JobFilter) -> int:
        """Ask for the end of the jobs that are meant and have not ended; return how many that are now.

        One of which that was asked before is not among them. At most `wanted.limit`, in two commits.
        """
        marked = self._jobs.request_cancel_all(wanted)
        queued = [job for job in marked if job.status is JobStatus.QUEUED]
        envelope = stopped(CANCELLED, NO_USAGE)
        ended = self._jobs.finish_all([job.fence for job in queued], envelope=envelope)
        for job, now_final in zip(queued, ended, strict=True):
            if now_final:
                self._note_end(job, envelope)
                self._metrics.job_ended(job.spec, envelope.status)
        for job in marked:
            self._running.stop(job.key, CANCELLED)
        return len(marked)

    def _finished(
        self, job: Job | JobStatusRow, envelope: Envelope, accounting: Accounting | None
    ) -> bool:
        if not self._jobs.finish(job.fence, envelope=envelope, accounting=accounting):
            return False
        self._note_end(job, envelope)
        return True

    def _note_end(self, job: Job | JobStatusRow, envelope: Envelope) -> None:
        self._specs.release(job.spec_sha256)
        _tell_end(job, envelope)


def _tell_end(job: Job | JobStatusRow, envelope: Envelope) -> None:
    """Log an end: an operator has to see whose job failed, and why, without asking the API."""
    code = {} if isinstance(envelope, Completed) else {"code": _loggable(envelope.error.code)}
    tenant, job_id = job.key
    _log.info(
        "job ended", job=job_id, tenant=tenant, spec=job.spec, status=envelope.status, **code,
        attempt=job.attempt, duration_ms=envelope.usage.duration_ms,
    )  # fmt: skip


def _loggable(code: str) -> str:
    """A code of the host as it is. A block may put into its own whatever it has read."""
    return code if code in set(ErrorCode) else "of the block"
