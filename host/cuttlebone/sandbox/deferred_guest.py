"""A guest that is opened by its first call, and can be interrupted before there is anything to stop."""

import threading
from collections.abc import Callable
from typing import TypeVar

from cuttlebone.errors import Interrupted, JobError
from cuttlebone.sandbox.guest import Guest, GuestAccounting

T = TypeVar("T")

OpenGuest = Callable[[Callable[[], bool]], Guest]
"""Opens a guest; where that takes long it asks now and then whether it was interrupted."""


class DeferredGuest:
    """A Guest over one that `init` opens. Owned by its job thread.

    What any guest needs and no kind of guest has by itself: opening may mean to compile, which belongs
    to the job; an interrupt may come before, during and after it; what has failed stays dead; what
    was used is known after the end.

    Invariants: `_lock` guards `_interrupted` and the life of `_guest`, so that an interrupt never
    reaches one that is being freed; once `_dead` is set it never changes.
    """

    def __init__(self, open_guest: OpenGuest, *, wants_tokens: bool) -> None:
        self.wants_tokens = wants_tokens
        self._open_guest = open_guest
        self._lock = threading.Lock()
        self._guest: Guest | None = None
        self._interrupted = False
        self._dead: Exception | None = None
        self._spent = GuestAccounting()

    @property
    def accounting(self) -> GuestAccounting:
        """What has been used up to the last call's return."""
        guest = self._guest
        return self._spent if guest is None else guest.accounting

    def init(self, payload: bytes) -> bytes:
        """Open the guest and call `cf_init`."""
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
            if self._guest is not None:
                self._guest.interrupt()

    def close(self) -> None:
        """Free the guest, keeping what it used."""
        with self._lock:
            guest, self._guest = self._guest, None
        if guest is not None:
            self._spent = guest.accounting
            guest.close()
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
        guest = self._open_guest(lambda: self._interrupted)
        with self._lock:
            self._guest = guest
            if self._interrupted:
                guest.interrupt()
        return guest.init(payload)

    def _live(self) -> Guest:
        if self._guest is None:
            raise self._dead or Interrupted("the guest has not been initialised")
        return self._guest
