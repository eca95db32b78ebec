"""Who waits for a job or streams its events: woken by job threads and by the end of the host."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cuttlebone.job.job import JobKey
from cuttlebone.service.job_service import JobService


class Subscription:
    """Wakes one coroutine. Owner: that coroutine, in the event loop.

    It carries no data: who is woken looks at the job again. What happens between `begin_look`
    and `changed` is not missed, because it ends that `changed` at once.
    """

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.closed = False
        """The host is stopping: look a last time and go."""

    def begin_look(self) -> None:
        """Forget what has happened so far. Call it before looking at the job."""
        self._woken.clear()

    async def changed(self) -> None:
        """Wait until something happens."""
        await self._woken.wait()

    def wake(self) -> None:
        """Something happened. Only in the event loop."""
        self._woken.set()

    def close(self) -> None:
        """Let the coroutine go. Only in the event loop."""
        self.closed = True
        self._woken.set()

    @property
    def woken(self) -> bool:
        """Whether `changed` would return at once. In any thread."""
        return self._woken.is_set()


class Subscribers:
    """All subscriptions of a host. Owner: the event loop.

    Invariant: after `close` every subscription, also one that is made later, is closed. A thread
    is held by none of them.
    """

    def __init__(self) -> None:
        self._open: set[Subscription] = set()
        self._closed = False

    @contextmanager
    def subscribe(self, jobs: JobService, key: JobKey) -> Iterator[Subscription]:
        """Wake the subscription whenever the job changes, while the body runs."""
        loop = asyncio.get_running_loop()
        subscription = Subscription()

        def wake() -> None:
            # Called by job threads, for each token. One that is awake already has yet to look,
            # so it misses nothing, and the loop is spared the call.
            if not subscription.woken:
                with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                    loop.call_soon_threadsafe(subscription.wake)

        if self._closed:
            subscription.close()
        self._open.add(subscription)
        try:
            with jobs.watch(key, wake):
                yield subscription
        finally:
            self._open.discard(subscription)

    def close(self) -> None:
        """Let everybody go: the host is stopping. Only in the event loop."""
        self._closed = True
        for subscription in tuple(self._open):
            subscription.close()

    def __len__(self) -> int:
        return len(self._open)
