"""Waiting for a locked process that works for long, and ending it where nobody wants its answer any more."""

import threading
import time
from collections.abc import Callable
from typing import Final, Self

from cuttlebone.locked_process.child import Child

LOOK_S: Final = 0.02


class Watch:
    """Kills a process that was stopped or takes too long. Owned by the thread that waits for it."""

    def __init__(self, child: Child, stopped: Callable[[], bool], wall_s: float) -> None:
        self.expired = False
        self._child = child
        self._stopped = stopped
        self._deadline = time.monotonic() + wall_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="process-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(LOOK_S):
            self.expired = time.monotonic() > self._deadline
            if self.expired or self._stopped():
                self._child.kill()
                return
