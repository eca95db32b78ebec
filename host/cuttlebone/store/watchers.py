"""Who wants to be woken when something happens to a job."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import structlog

from cuttlebone.job.job import JobKey

_log = structlog.get_logger(__name__)


class Watchers:
    """Who wants to be woken when something happens to a job, or to any. Owner: the store, which wakes.

    Any thread may use it. Callbacks run in the thread that wakes and must be quick; they carry no
    data, so a watcher that is woken twice or late reads the same log.
    """

    def __init__(self) -> None:
        self._callbacks: dict[JobKey | None, list[Callable[[], None]]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def watch(self, key: JobKey | None, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` from now on whenever something happens to the job, to any if it is None."""
        with self._lock:
            self._callbacks.setdefault(key, []).append(callback)
        try:
            yield
        finally:
            with self._lock:
                left = self._callbacks[key]
                left.remove(callback)
                if not left:
                    del self._callbacks[key]

    def wake(self, keys: Iterable[JobKey]) -> None:
        """Something happened to these jobs: who watches several of them is woken for each."""
        with self._lock:
            if not self._callbacks:
                return
            woken = [one for key in keys for one in self._callbacks.get(key, ())]
            woken.extend(self._callbacks.get(None, ()))
        for callback in woken:
            try:
                callback()
            except Exception:  # noqa: BLE001  # a watcher must not stop the thread that serves all
                _log.exception("a watcher could not be woken")
