"""Counts how often a host reads and writes JSON, by watching the calls of its threads: nothing is patched."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

_READS: Final = frozenset({"from_json", "validate_json", "loads", "raw_decode"})
_WRITES: Final = frozenset({"to_json", "dumps"})
"""Names of what pydantic, orjson and the standard library call it in C."""


@dataclass(slots=True)
class CodecCalls:
    """What threads that were started meanwhile have read and written. Owner: whoever counts."""

    marker: str
    """A word that only the one value has that is looked for."""
    reads: int = 0
    writes: int = 0
    marked_reads: int = 0
    """Of these, of something that has the marker."""
    marked_writes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, frame: FrameType, event: str, called: Any) -> None:
        """A profile function, see `sys.setprofile`."""
        if event != "c_call":
            return
        name = called.__name__
        if name not in _READS | _WRITES:
            return
        # Whoever calls it has what it reads or writes in a variable.
        marked = any(self.marker in repr(value) for value in frame.f_locals.values())
        with self._lock:
            if name in _READS:
                self.reads += 1
                self.marked_reads += marked
            else:
                self.writes += 1
                self.marked_writes += marked


@contextmanager
def codec_calls(marker: str, *, here: bool = False) -> Iterator[CodecCalls]:
    """Count in all threads that are started while the body runs; with `here` in this one too."""
    of_threads, of_this, calls = threading.getprofile(), sys.getprofile(), CodecCalls(marker)
    threading.setprofile(calls.watch)
    if here:
        sys.setprofile(calls.watch)
    try:
        yield calls
    finally:
        sys.setprofile(of_this)
        threading.setprofile(of_threads)
