"""The rules of acceptance that every store keeps: the order of the queue, and why a job is refused."""

from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone.job.job import PRIORITY_LEAD_S, Job
from cuttlebone.job_options import Priority
from cuttlebone.store.moments import US, microseconds


def next_rank_us(job: Job, last: tuple[int, Priority] | None) -> int:
    """The place in the queue of a job that is accepted now, lowest first. The number breaks ties.

    It is the moment of acceptance, on a clock that never goes back, moved ahead by the priority.
    `last` is rank and priority of the job that was accepted last of those that are kept: a wall clock
    that was set back must not let new jobs go before those that wait.
    """
    moment_us = microseconds(job.created_at)
    if last is not None:
        rank_us, priority = last
        moment_us = max(moment_us, rank_us + _lead_us(priority) + 1)
    return moment_us - _lead_us(job.priority)


def _lead_us(priority: Priority) -> int:
    return PRIORITY_LEAD_S * US if priority is Priority.INTERACTIVE else 0


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
