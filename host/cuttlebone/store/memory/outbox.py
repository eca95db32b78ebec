"""The delivery log in memory, of the store in memory."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState, state_after
from cuttlebone.job.job import now


class MemoryDeliveries:
    """Owner: the store, which adds and forgets. Any thread may call it; one lock guards everything."""

    def __init__(self) -> None:
        self._by_job: dict[str, Delivery] = {}
        self._lock = threading.Lock()

    def add(self, job_id: str, delivery_id: str, url: str) -> None:
        """Keep a new delivery, due at once."""
        moment = now()
        with self._lock:
            self._by_job[job_id] = Delivery(
                delivery_id, job_id, url, DeliveryState.PENDING, moment, moment
            )

    def forget(self, job_id: str) -> None:
        """Wipe the delivery of a job, if there is one."""
        with self._lock:
            self._by_job.pop(job_id, None)

    def of(self, job_id: str) -> Sequence[Delivery]:
        """The deliveries of a job: one, or none."""
        with self._lock:
            found = self._by_job.get(job_id)
        return () if found is None else (found,)

    def due(self, moment: datetime, *, limit: int) -> Sequence[Delivery]:
        """Pending deliveries to be tried by `moment`, the longest due first."""
        with self._lock:
            times = [(one.next_attempt_at, one) for one in self._by_job.values()]
        due = [(at, one) for at, one in times if at is not None and at <= moment]
        return [one for _, one in sorted(due, key=lambda pair: pair[0])[:limit]]

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; without a reason it delivered, without a next one it was the last."""
        with self._lock:
            kept = self._by_job.get(delivery.job_id)
            if kept is not None and kept.id == delivery.id:
                self._by_job[delivery.job_id] = replace(
                    kept,
                    state=state_after(attempt, next_attempt_at),
                    next_attempt_at=next_attempt_at,
                    attempts=(*kept.attempts, attempt),
                )

    def pending(self) -> int:
        """How many are pending."""
        with self._lock:
            return sum(one.state is DeliveryState.PENDING for one in self._by_job.values())
