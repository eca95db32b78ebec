"""A bound on the memory of all loaded models together: the least recently used makes room."""

import threading
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.errors import OperatorError
from cuttlebone.inference.progress import LoadAborted
from cuttlebone.text import printable

LOOK_S: Final = 0.1
"""How often a model that waits for room looks whether a generation has ended."""

Loaded = TypeVar("Loaded")


class ModelMemory:
    """Bytes that loaded models may take. Shared by all endpoints that load on demand.

    Invariant: the sizes in `_held` add up to at most `bytes_max`. A model in use is never asked to
    go; whoever needs its room waits, which its generations count as waiting.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held: dict[str, int] = {}
        self._endpoints: dict[str, LocalEndpoint] = {}
        self._changed = threading.Condition(threading.Lock())
        self._closed = False

    def watch(self, endpoints: Iterable[LocalEndpoint]) -> None:
        """Say who may be asked to make room, loading under their names; before anything is loaded."""
        self._endpoints = {endpoint.name: endpoint for endpoint in endpoints}

    def load(self, name: str, size_of: Callable[[], int], load: Callable[[], Loaded]) -> Loaded:
        """Load a model once there is room for it; raises OperatorError, LoadAborted."""
        self._take(name, size_of())
        try:
            return load()
        except BaseException:
            self.release(name)
            raise

    def release(self, name: str) -> None:
        """Give the room of a model back that has been freed."""
        with self._changed:
            self._held.pop(name, None)
            self._changed.notify_all()

    def close(self) -> None:
        """Let nothing wait for room any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, name: str, size: int) -> None:
        if size > self._bytes_max:
            raise OperatorError(
                f"the model {printable(name)} needs {size >> 20} MiB, but all models together may "
                f"take {self._bytes_max >> 20} MiB (models_memory_bytes)"
            )
        with self._changed:
            while not self._closed and sum(self._held.values()) + size > self._bytes_max:
                self._ask_oldest()
                self._changed.wait(LOOK_S)
            # Also where there is room now: it comes from the models that are being stopped.
            if self._closed:
                raise LoadAborted
            self._held[name] = size

    def _ask_oldest(self) -> None:
        idle = [one for name in self._held if not (one := self._endpoints[name]).busy]
        if idle:
            min(idle, key=lambda one: one.used_s).unload()
