"""What is kept of deliveries beside the jobs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from cuttlebone.job.delivery import Attempt, Delivery


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
