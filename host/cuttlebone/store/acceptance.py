"""The rules of acceptance that every store keeps: the order of the queue, and why a job is refused."""

from datetime import datetime

from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone.job.job import PRIORITY_LEAD_S
from cuttlebone.job_options import Priority
from cuttlebone.store.moments import US, microseconds


def accepted_us(created_at: datetime, last_us: int) -> int:
    """When a job was accepted, on a clock of the store that never goes back and never stands still.

    `last_us` is what it said last, so it has to be kept with the jobs: a wall clock that was set back
    must not let new jobs go before those that wait.
    """
    return max(microseconds(created_at), last_us + 1)


def rank_us(moment_us: int, priority: Priority) -> int:
    """The place in the queue, lowest first, of a job accepted at a moment. The number breaks ties."""
    return moment_us - (PRIORITY_LEAD_S * US if priority is Priority.INTERACTIVE else 0)


def queue_full(waiting_max: int) -> CallerError:
    """The refusal of a job that finds no place in the queue."""
    return CallerError(
        ProblemCode.QUEUE_FULL,
        f"{waiting_max} jobs wait already (`jobs_waiting_max`); try again later",
        retry_after_s=RETRY_LATER_S,
    )


def tenant_queue_full(waiting_max: int) -> CallerError:
    """The refusal of a job whose tenant has its share of the queue already."""
    return CallerError(
        ProblemCode.QUOTA_EXCEEDED,
        f"{waiting_max} jobs of this tenant wait already (`tenant_jobs_waiting_max`); "
        "try again later",
        retry_after_s=RETRY_LATER_S,
    )


def job_exists(job_id: str) -> CallerError:
    """The refusal of a new request under the id of another one."""
    return CallerError(
        ProblemCode.JOB_EXISTS,
        f"there is another job with the id {job_id}; choose a new id for a new request",
    )


def idempotency_mismatch() -> CallerError:
    """The refusal of a new request under the idempotency key of another one."""
    return CallerError(
        ProblemCode.IDEMPOTENCY_MISMATCH,
        "this Idempotency-Key was used for another request; use a new key for a new request",
    )
