"""The last events of the jobs that somebody follows, in memory: what was written need not be read back."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import JobKey
from cuttlebone.store.watchers import Watchers

TAIL_EVENTS_MAX: Final = 1_000
TAIL_BYTES_MAX: Final = 1 << 20
"""Of the data of the events of one tail. What is before it is read from the file."""

Told: TypeAlias = tuple[JobKey, JobEvent | None]
"""An event that was written, or None where something else has happened to the job."""


@dataclass(slots=True)
class _Tail:
    """Owner: the tails, under their lock. Invariant: `events` are numbered without a gap."""

    followers: int = 0
    events: deque[JobEvent] = field(default_factory=deque)
    bytes: int = 0

    def push(self, event: JobEvent) -> None:
        if self.events and event.number != self.events[-1].number + 1:
            self.clear()
        self.events.append(event)
        self.bytes += len(event.json)
        while self.events and (len(self.events) > TAIL_EVENTS_MAX or self.bytes > TAIL_BYTES_MAX):
            self.bytes -= len(self.events.popleft().json)

    def clear(self) -> None:
        self.events.clear()
        self.bytes = 0

    def read(self, after: int, limit: int) -> Sequence[JobEvent] | None:
        if not self.events or not self.events[0].number - 1 <= after <= self.events[-1].number:
            return None
        start = after + 1 - self.events[0].number
        return tuple(islice(self.events, start, start + limit))


class EventTails:
    """Owner: the database, which tells it what each commit has written. Any thread may use it.

    Invariants: a job has a tail while somebody follows it, so what they take is bounded by the
    followers; nothing is in a tail before it is durable. All that is written to the log of a job
    that is followed goes through one database: the host that runs it is the one that is asked.
    """

    def __init__(self) -> None:
        self._watchers = Watchers()
        self._tails: dict[JobKey, _Tail] = {}
        self._lock = threading.Lock()

    @contextmanager
    def follow(self, key: JobKey | None, callback: Callable[[], None]) -> Iterator[None]:
        """Keep the tail of a job, and call `callback` when something has happened to it."""
        with self._kept(key), self._watchers.watch(key, callback):
            yield

    def read(self, key: JobKey, *, after: int, limit: int) -> Sequence[JobEvent] | None:
        """The events with numbers above `after`, at most `limit`; None if only the file knows them."""
        with self._lock:
            tail = self._tails.get(key)
            return None if tail is None else tail.read(after, limit)

    def committed(self, told: Sequence[Told]) -> None:
        """Add what a commit has made durable, and wake whoever follows: once for each job."""
        with self._lock:
            for key, event in told:
                tail = self._tails.get(key)
                if tail is None:
                    continue
                if event is None:
                    tail.clear()
                else:
                    tail.push(event)
        self._watchers.wake(dict.fromkeys(key for key, _ in told))

    @contextmanager
    def _kept(self, key: JobKey | None) -> Iterator[None]:
        if key is None:
            yield
            return
        with self._lock:
            tail = self._tails.setdefault(key, _Tail())
            tail.followers += 1
        try:
            yield
        finally:
            with self._lock:
                tail.followers -= 1
                if not tail.followers:
                    del self._tails[key]
