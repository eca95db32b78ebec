"""The outbox of the stores in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from cuttlebone.job.delivery import Attempt, Delivery, Topic, state_after
from cuttlebone.job.job import JobKey
from cuttlebone.store.memory.state import MemoryState


class MemoryOutbox:
    """Reads and changes the deliveries that ends have put into the state. See `Outbox`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def of(self, key: JobKey) -> Sequence[Delivery]:
        """The deliveries of a job, in the order of their topics."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return () if kept is None else [kept.deliveries[one] for one in sorted(kept.deliveries)]

    def due(self, topic: Topic, moment: datetime, *, each_max: int) -> Sequence[Delivery]:
        """Pending deliveries of a topic to be tried by `moment`, at most `each_max` of one receiver."""
        times = [(one.next_attempt_at, one) for one in self._pending(topic)]
        due = [(at, one) for at, one in times if at is not None and at <= moment]
        found, seen = [], Counter[str]()
        for _, one in sorted(due, key=lambda pair: pair[0]):
            seen[one.receiver] += 1
            if seen[one.receiver] <= each_max:
                found.append(one)
        return found

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; without a reason it delivered, without a next one it was the last."""
        with self._state.lock:
            kept = self._state.kept.get(delivery.key)
            known = None if kept is None else kept.deliveries.get(delivery.topic)
            if kept is None or known is None or known.id != delivery.id:
                return
            kept.deliveries[delivery.topic] = replace(
                known,
                state=state_after(attempt, next_attempt_at),
                next_attempt_at=next_attempt_at,
                attempts=(*known.attempts, attempt),
            )
            if next_attempt_at is None:
                self._state.pending.pop((delivery.topic, delivery.key), None)

    def pending(self, topic: Topic) -> int:
        """How many of a topic are pending."""
        return len(self._pending(topic))

    def _pending(self, topic: Topic) -> list[Delivery]:
        with self._state.lock:
            kept = self._state.kept
            return [kept[key].deliveries[of] for of, key in self._state.pending if of is topic]
