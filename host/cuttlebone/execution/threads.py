"""The job threads of a host: started together, stopped within a grace period."""

import threading
import time

from cuttlebone.execution.ending import STOPPING
from cuttlebone.execution.worker import Worker
from cuttlebone.job.job_filter import JobFilter
from cuttlebone_abi import JobStatus

_BATCH = 500


class JobThreads:
    """Owner: the host, which starts and stops it once.

    Invariant: after `stop` every job that was accepted has its envelope, or waits in a durable
    store for the next start.
    """

    def __init__(self, worker: Worker, *, count: int) -> None:
        self._worker = worker
        self._threads = [
            threading.Thread(target=worker.run, name=f"job-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        """Begin to run jobs."""
        for thread in self._threads:
            thread.start()

    def stop(self, *, grace_s: float) -> None:
        """Start no more jobs, let running ones go on for `grace_s`, then stop them."""
        self._worker.queue.close()
        if not self._worker.stores.durable:
            self._end_queued()
        deadline = time.monotonic() + grace_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._worker.running.stop_all(STOPPING)
        self._worker.stores.hurry()
        for thread in self._threads:
            thread.join()

    def _end_queued(self) -> None:
        queued = JobFilter(statuses=frozenset({JobStatus.QUEUED}), limit=_BATCH)
        while jobs := self._worker.stores.jobs.find(queued):
            for job in jobs:
                self._worker.ending.end_waiting(job, STOPPING)
