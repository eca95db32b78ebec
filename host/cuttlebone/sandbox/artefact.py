"""A compiled module in memory, in the two forms that it is run from."""

import os
import threading

from cuttlebone.locked_process.sealed_file import sealed_file


class Artefact:
    """Machine code of one module. Immutable; shared by all guests that run it.

    Guest processes get it as a sealed memory file: not even a process that has lost control of
    itself can change a byte that the next one will run.
    """

    __slots__ = ("_descriptor", "_lock", "code")

    def __init__(self, code: bytes) -> None:
        self.code = code
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    @property
    def size_bytes(self) -> int:
        """Length of the code."""
        return len(self.code)

    def descriptor(self) -> int:
        """The sealed memory file, made at the first call. It lives as long as this object."""
        with self._lock:
            if self._descriptor is None:
                self._descriptor = sealed_file(self.code)
            return self._descriptor

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
