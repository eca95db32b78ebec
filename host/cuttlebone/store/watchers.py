"""Who wants to be woken when the event log of a job grows."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
