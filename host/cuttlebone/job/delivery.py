"""What follows from the end of a job, and when it was tried."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cuttlebone.job.job import JobKey


class Topic(StrEnum):
    """What a delivery is for, and so who takes it."""

    CALLBACK = "callback"
    """The `callback_url` of the job is told of its end."""


class DeliveryState(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    ABANDONED = "abandoned"
    """It is not tried any more."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to deliver."""

    number: int
    """From 1."""
    at: datetime
    status: int | None
    """HTTP status of the answer; None if there was none."""
    reason: str
    """Why it failed; empty if it did not."""
    took_ms: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One thing that is due because a job has ended."""

    id: str
    """The same in every attempt, so that a receiver knows what it has had already."""
    key: JobKey
    topic: Topic
    state: DeliveryState
    created_at: datetime
    next_attempt_at: datetime | None
    """While it is pending."""
    receiver: str
    """Whom it goes to; what fails or is slow there is no matter of others."""
    attempts: tuple[Attempt, ...] = ()


def state_after(attempt: Attempt, next_attempt_at: datetime | None) -> DeliveryState:
    """Where a delivery stands after an attempt."""
    if not attempt.reason:
        return DeliveryState.DELIVERED
    return DeliveryState.ABANDONED if next_attempt_at is None else DeliveryState.PENDING
