"""The bounded queue between submitters and job threads. The jobs themselves are in the store."""

import threading
from concurrent.futures import Future

from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone.job.job import Job
from cuttlebone.store.jobs import JobStore


class JobQueue:
    """Hands queued jobs to job threads, in the order in which the store has them.

    Any thread may use it. The store is never called under the lock, so that submitters share its
    commits. Invariants: `_enqueued` grows with every job that may be in the store since, so a thread that
    found nothing knows whether something has come since; after `close` nothing is enqueued or taken.
    """

    def __init__(
        self, jobs: JobStore, *, waiting_max: int, tenant_running_max: int | None = None
    ) -> None:
        self._jobs = jobs
        self._waiting_max = waiting_max
        self._tenant_running_max = tenant_running_max
        self._changed = threading.Condition()
        self._enqueued = 0
        self._inserting = 0
        self._closed = False

    def enqueue(
        self,
        job: Job,
        *,
        spec_document: bytes | None = None,
        idempotency_key: str | None = None,
        tenant_waiting_max: int | None = None,
    ) -> Future[Job]:
        """Put a job into the queue soon: the future gives it, or the one that the same request made before.

        It may raise as that of `JobStore.insert` does. Raises CallerError `stopping` once the
        queue is closed.
        """
        with self._changed:
            if self._closed:
                raise CallerError(
                    ProblemCode.STOPPING,
                    "this host is stopping; submit again when it is back",
                    retry_after_s=RETRY_LATER_S,
                )
            self._inserting += 1
        try:
            inserted = self._jobs.insert(
                job,
                waiting_max=self._waiting_max,
                tenant_waiting_max=tenant_waiting_max,
                idempotency_key=idempotency_key,
                spec_document=spec_document,
            )
        except BaseException:
            self._settled()
            raise
        inserted.add_done_callback(lambda _: self._settled())
        return inserted

    def _settled(self) -> None:
        """A job that was on its way may be there now."""
        with self._changed:
            self._inserting -= 1
            self._enqueued += 1
            self._changed.notify_all()

    def take(self) -> Job | None:
        """Wait for a job and move it to running; None once the queue is closed."""
        while True:
            with self._changed:
                if self._closed:
                    return None
                seen = self._enqueued
            # Whom the bound of a tenant passes over needs no waking: the thread that ends a job of
            # that tenant comes here next.
            job = self._jobs.claim(tenant_running_max=self._tenant_running_max)
            if job is not None:
                return job
            self._wait_for_more_than(seen)

    def close(self) -> None:
        """Accept nothing more, let every waiting thread go, wait until what was begun is in the store."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._inserting == 0)

    def _wait_for_more_than(self, seen: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._enqueued != seen or self._closed)
