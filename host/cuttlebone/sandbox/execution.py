"""One instance of a module that is being run, wherever that is: what guest and admission drive."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cuttlebone.errors import Interrupted, JobError
from cuttlebone.sandbox.guest import GuestAccounting

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Description:
    """What a module says of itself; None where it does not export the function."""

    abi_version: int | None
    signature: bytes | None


class Execution(Protocol):
    """A fresh instance. Raises what `Guest` raises; `interrupt` alone may come from another thread."""

    def init(self, payload: bytes) -> bytes:
        """Instantiate, then call `cf_init`."""

    def step(self, payload: bytes) -> bytes:
        """Call `cf_step`."""

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token`."""

    def describe(self) -> Description:
        """Instantiate, then ask for ABI version and signature; instead of `init`."""

    def interrupt(self) -> None:
        """Stop the running call or the next one; only while the execution is open."""

    def accounting(self) -> GuestAccounting:
        """What has been used up to the last call's return."""

    def close(self) -> None:
        """Free everything; never during a call."""


OpenExecution = Callable[[Callable[[], bool]], Execution]
"""Makes an execution; where that takes long it asks now and then whether it was interrupted."""


class ExecutionGuest:
    """A Guest over an execution that is opened by `init`. Owned by its job thread.

    Invariants: `_lock` guards `_interrupted` and the life of `_execution`, so that an interrupt
    never reaches an execution that is being freed; once `_dead` is set it never changes.
    """

    def __init__(self, open_execution: OpenExecution, *, wants_tokens: bool) -> None:
        self.wants_tokens = wants_tokens
        self._open_execution = open_execution
        self._lock = threading.Lock()
        self._execution: Execution | None = None
        self._interrupted = False
        self._dead: Exception | None = None
        self._spent = GuestAccounting()

    @property
    def accounting(self) -> GuestAccounting:
        """What has been used up to the last call's return."""
        execution = self._execution
        return self._spent if execution is None else execution.accounting()

    def init(self, payload: bytes) -> bytes:
        """Open the execution and call `cf_init`."""
        return self._guarded(self._first, payload)

    def step(self, payload: bytes) -> bytes:
        """Call `cf_step`."""
        return self._guarded(self._live().step, payload)

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token`."""
        return self._guarded(self._live().on_token, piece)

    def interrupt(self) -> None:
        """Make the running call, or the next one, raise Interrupted."""
        with self._lock:
            self._interrupted = True
            if self._execution is not None:
                self._execution.interrupt()

    def close(self) -> None:
        """Free the execution, keeping what it used."""
        with self._lock:
            execution, self._execution = self._execution, None
        if execution is not None:
            self._spent = execution.accounting()
            execution.close()
        self._dead = self._dead or Interrupted("the guest is closed")

    def _guarded(self, call: Callable[[bytes], T], payload: bytes) -> T:
        if self._dead is None and self._interrupted:
            self._dead = Interrupted("interrupted before the call")
        if self._dead is not None:
            raise self._dead
        try:
            return call(payload)
        except (JobError, Interrupted) as error:
            self._dead = error
            raise

    def _first(self, payload: bytes) -> bytes:
        execution = self._open_execution(lambda: self._interrupted)
        with self._lock:
            self._execution = execution
            if self._interrupted:
                execution.interrupt()
        return execution.init(payload)

    def _live(self) -> Execution:
        if self._execution is None:
            raise self._dead or Interrupted("the guest has not been initialised")
        return self._execution
