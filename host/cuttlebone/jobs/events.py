"""The event log of a job: what its watchers are told, numbered from 1."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Protocol

from cuttlebone.jobs.job import Job
from cuttlebone_abi import JobStatus, Json


class EventKind(StrEnum):
    """What happened."""

    STATUS = "status"
    """`{"status": …}`: the job moved on, or tells what it is waiting for."""
    PROGRESS = "progress"
    """What the guest emitted, as it is."""
    TOKEN = "token"  # noqa: S105  # a piece of text, not a password
    """`{"text": …}`: a piece of a generation."""
    RESULT = "result"
    """The envelope. Always the last event."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One entry of an event log."""

    number: int
    kind: EventKind
    data: Json
    at: datetime


class Watchers:
    """Who wants to be woken when a job's event log grows.

    Any thread may use it. Callbacks run in the thread that caused the event and must be
    quick; they carry no data, so a watcher that is woken twice or late reads the same log.
    """

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def watch(self, job_id: str, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` from now on whenever something happens to the job."""
        with self._lock:
            self._callbacks.setdefault(job_id, []).append(callback)
        try:
            yield
        finally:
            with self._lock:
                left = self._callbacks[job_id]
                left.remove(callback)
                if not left:
                    del self._callbacks[job_id]

    def wake(self, job_id: str) -> None:
        """Something happened to the job."""
        with self._lock:
            callbacks = tuple(self._callbacks.get(job_id, ()))
        for callback in callbacks:
            callback()


class Appender(Protocol):
    """The part of a store that an event log needs."""

    def append(self, job: Job, kind: EventKind, data: Json, *, after: Callable[[], None]) -> None:
        """Add an event to the log of a running job, then call `after`."""


class EventLog:
    """Writes the events of one running job and wakes its watchers. Owner: its job thread."""

    def __init__(
        self, job: Job, store: Appender, watchers: Watchers, *, progress_told: int = 0
    ) -> None:
        """`progress_told` is how many progress events earlier attempts have logged already."""
        self._job = job
        self._store = store
        self._wake = partial(watchers.wake, job.id)
        self._progress_told = progress_told

    def progress(self, value: Json) -> None:
        """Log what the guest emitted, unless an earlier attempt has."""
        if self._progress_told > 0:
            self._progress_told -= 1
            return
        self._store.append(self._job, EventKind.PROGRESS, value, after=self._wake)

    def token(self, text: str) -> None:
        """Log a piece of generated text."""
        self._store.append(self._job, EventKind.TOKEN, {"text": text}, after=self._wake)

    def waiting(self, cause: str) -> None:
        """Log what the running job is waiting for."""
        told = {"status": JobStatus.RUNNING, "waiting_for": cause}
        self._store.append(self._job, EventKind.STATUS, told, after=self._wake)
