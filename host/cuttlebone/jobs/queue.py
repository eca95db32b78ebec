"""The bounded queue between submitters and job threads. The jobs themselves are in the store."""

import threading

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.jobs.job import Job
from cuttlebone.jobs.store import JobStore

RETRY_AFTER_S = 5


class JobQueue:
    """Hands queued jobs to job threads, oldest first.

    Any thread may use it. Invariant: a job that was put is taken by some thread sooner or
    later, or finished while it waited; after `close`, nothing is put or taken.
    """

    def __init__(self, store: JobStore, *, waiting_max: int) -> None:
        self._store = store
        self._waiting_max = waiting_max
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: Job) -> None:
        """Accept a job; raise CallerError when the queue is full or closed."""
        with self._changed:
            if self._closed:
                raise CallerError(
                    ProblemCode.STOPPING,
                    "this host is stopping; submit again when it is back",
                    retry_after_s=RETRY_AFTER_S,
                )
            if not self._store.accept(job, waiting_max=self._waiting_max):
                raise CallerError(
                    ProblemCode.QUEUE_FULL,
                    f"{self._waiting_max} jobs wait already (`jobs_waiting_max`); try again later",
                    retry_after_s=RETRY_AFTER_S,
                )
            self._changed.notify()

    def take(self) -> Job | None:
        """Wait for a job and move it to running; None once the queue is closed."""
        with self._changed:
            while not self._closed:
                job = self._store.claim()
                if job is not None:
                    return job
                self._changed.wait()
            return None

    def close(self) -> None:
        """Let every waiting thread go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
