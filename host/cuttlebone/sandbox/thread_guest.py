"""A guest in the thread that runs its job: the fast mode, for blocks that one trusts."""

import threading
from collections.abc import Callable
from typing import TypeVar

from cuttlebone.errors import Interrupted, JobError
from cuttlebone.sandbox.guest import GuestAccounting, GuestLimits
from cuttlebone.sandbox.instance import Instance

T = TypeVar("T")


class ThreadGuest:
    """One run of a block in this process. Owned by its job thread; see `Guest` for the rules.

    Invariants: `_lock` guards `_interrupted` and the life of `_instance`, so that `interrupt`
    never moves the epoch of an engine that is being freed; once `_dead` is set it never changes.
    """

    def __init__(
        self, artefact: Callable[[], bytes], limits: GuestLimits, *, wants_tokens: bool
    ) -> None:
        self.wants_tokens = wants_tokens
        self._artefact = artefact
        self._limits = limits
        self._lock = threading.Lock()
        self._instance: Instance | None = None
        self._interrupted = False
        self._dead: Exception | None = None
        self._spent = GuestAccounting(fuel=None if limits.fuel is None else 0)

    @property
    def accounting(self) -> GuestAccounting:
        """What has been used up to the last call's return."""
        instance = self._instance
        return self._spent if instance is None else instance.accounting()

    def init(self, payload: bytes) -> bytes:
        """Instantiate and call `cf_init`."""
        return self._guarded(lambda: self._opened().command("cf_init", payload))

    def step(self, payload: bytes) -> bytes:
        """Call `cf_step`."""
        return self._guarded(lambda: self._live().command("cf_step", payload))

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token`."""
        return self._guarded(lambda: self._live().on_token(piece))

    def interrupt(self) -> None:
        """Make the running call, or the next one, raise Interrupted."""
        with self._lock:
            self._interrupted = True
            if self._instance is not None:
                self._instance.engine.increment_epoch()

    def close(self) -> None:
        """Free the instance, keeping what it used."""
        with self._lock:
            instance, self._instance = self._instance, None
        if instance is not None:
            self._spent = instance.accounting()
            instance.close()
        self._dead = self._dead or Interrupted("the guest is closed")

    def _guarded(self, call: Callable[[], T]) -> T:
        if self._dead is not None:
            raise self._dead
        if self._interrupted:
            self._dead = Interrupted("interrupted before the call")
            raise self._dead
        try:
            return call()
        except (JobError, Interrupted) as error:
            self._dead = error
            raise

    def _opened(self) -> Instance:
        instance = Instance(self._artefact(), self._limits)
        with self._lock:
            self._instance = instance
            if self._interrupted:
                instance.engine.increment_epoch()
        instance.start()
        return instance

    def _live(self) -> Instance:
        if self._instance is None:
            raise Interrupted("the guest has not been initialised")
        return self._instance
