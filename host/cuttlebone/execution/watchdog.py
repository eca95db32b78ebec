"""Ends jobs whose time is up: one thread that sleeps until the next deadline."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from cuttlebone.commands.budget import Budget

# A budget's deadline can come nearer while the watchdog sleeps (a generation is admitted, so
# the clock runs again). Looking at least this often bounds how late that is noticed.
_LOOK_EVERY_S: Final = 0.05


class Watchdog:
    """Calls `expire` on every watched budget when it is due.

    Owner: whoever starts and stops it, a host or a `with` block. Any thread may watch.
    """

    def __init__(self) -> None:
        self._budgets: set[Budget] = set()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; budgets still watched expire no more."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def watch(self, budget: Budget) -> Iterator[None]:
        """Let `budget` expire while the body runs."""
        with self._changed:
            self._budgets.add(budget)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._budgets.discard(budget)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                # With no job there is nothing to wake for; a new one notifies.
                due_in_s = min((one.due_in_s() for one in self._budgets), default=None)
                wait_s = None if due_in_s is None else min(max(due_in_s, 0.001), _LOOK_EVERY_S)
                self._changed.wait(wait_s)
                budgets = tuple(self._budgets)
            for budget in budgets:
                budget.expire()
