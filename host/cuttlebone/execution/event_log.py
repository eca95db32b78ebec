"""Writes the events of one running job."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job
from cuttlebone.store.watchers import Watchers
from cuttlebone_abi import JobStatus, Json


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
