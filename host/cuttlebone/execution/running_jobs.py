"""The jobs that run now, so that a cancel finds them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cuttlebone.commands.budget import Budget
from cuttlebone.errors import JobError
from cuttlebone.job.job import JobKey


class RunningJobs:
    """The budgets of running jobs, by key. Any thread may use it."""

    def __init__(self) -> None:
        self._budgets: dict[JobKey, Budget] = {}
        self._lock = threading.Lock()

    @contextmanager
    def track(self, key: JobKey, budget: Budget) -> Iterator[None]:
        """Let `stop` reach the job while the body runs."""
        with self._lock:
            self._budgets[key] = budget
        try:
            yield
        finally:
            with self._lock:
                del self._budgets[key]

    def stop(self, key: JobKey, cause: JobError) -> None:
        """End the job for `cause` if it runs."""
        with self._lock:
            budget = self._budgets.get(key)
        if budget is not None:
            budget.stop(cause)

    def stop_all(self, cause: JobError) -> None:
        """End every job that runs."""
        with self._lock:
            budgets = tuple(self._budgets.values())
        for budget in budgets:
            budget.stop(cause)
