"""What is told to a callback, when it was tried, and the log that keeps this beside the jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


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
    """The one message about the end of a job."""

    id: str
    """The same in every attempt, so that a receiver knows what it has had already."""
    job_id: str
    url: str
    state: DeliveryState
    created_at: datetime
    next_attempt_at: datetime | None
    """While it is pending."""
    attempts: tuple[Attempt, ...] = ()


class DeliveryLog(Protocol):
    """Keeps deliveries. Any thread may call it.

    Invariants: a job with a callback has its delivery from the moment in which it is final, in
    the same commit; a delivery goes with its job.
    """

    def of(self, job_id: str) -> Sequence[Delivery]:
        """The deliveries of a job: one, or none."""

    def due(self, moment: datetime, *, limit: int) -> Sequence[Delivery]:
        """Pending deliveries to be tried by `moment`, the longest due first."""

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; without a reason it delivered, without a next one it was the last.

        Raises StoreUnavailable if it cannot be written. One whose job was forgotten is left out.
        """

    def pending(self) -> int:
        """How many are pending."""


def state_after(attempt: Attempt, next_attempt_at: datetime | None) -> DeliveryState:
    """Where a delivery stands after an attempt."""
    if not attempt.reason:
        return DeliveryState.DELIVERED
    return DeliveryState.ABANDONED if next_attempt_at is None else DeliveryState.PENDING
