"""Who waits for a job or streams its events: woken in groups by job threads, and by the end of the host."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cuttlebone.api.event_frames import event_frame
from cuttlebone.api.job_feed import JobFeed, KeptLooks, MakeFrame
from cuttlebone.api.stream_pacer import StreamPacer
from cuttlebone.job.job import Job, JobKey
from cuttlebone.service.job_service import JobService

PAUSE_S_A_READER: Final = 0.0005
"""To serve a reader takes a fifth of this: the more there are, the rarer are the groups."""
PAUSE_S_MAX: Final = 0.25

_Followed: TypeAlias = tuple[JobKey, int]
"""A job, with its number: another one may get its id once it is forgotten."""


class Subscription:
    """Wakes one coroutine. Owner: that coroutine, in the event loop.

    It carries no data: who is woken looks at the feed again. What happens between `begin_look`
    and `changed` is not missed, because it ends that `changed` at once.
    """

    def __init__(self, feed: JobFeed, pacer: StreamPacer) -> None:
        self._woken = asyncio.Event()
        self.feed = feed
        """What there is to see, shared with all who follow the job."""
        self.pacer = pacer
        """When some of it may be sent, shared with all who follow any job."""
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


@dataclass(slots=True)
class _Group:
    """All who follow one job. Owner: the subscribers, in the event loop."""

    feed: JobFeed
    watch: ExitStack
    subscriptions: set[Subscription] = field(default_factory=set)

    def wake(self) -> None:
        self.feed.changed()
        for subscription in self.subscriptions:
            subscription.wake()


class Subscribers:
    """All subscriptions of a host. Owner: the event loop, but for `_told` and `_waking`, under `_lock`.

    Invariants: after `close` every subscription, also one that is made later, is closed. A thread
    is held by none of them. However many follow a job, the store calls back once for a commit, and
    the loop is woken once for all jobs; the next group is woken when this one has had its time.
    """

    def __init__(self, make_frame: MakeFrame = event_frame) -> None:
        self._make_frame = make_frame
        self._kept = KeptLooks()
        self._pacer = StreamPacer()
        self._groups: dict[_Followed, _Group] = {}
        self._leaving: list[Callable[[], None]] = []
        self._closed = False
        self._lock = threading.Lock()
        self._told: set[_Followed] = set()
        self._waking = False

    @contextmanager
    def subscribe(self, jobs: JobService, job: Job) -> Iterator[Subscription]:
        """Wake the subscription whenever the job changes, while the body runs."""
        followed = (job.key, job.number)
        group = self._groups.get(followed) or self._new_group(jobs, followed)
        subscription = Subscription(group.feed, self._pacer)
        if self._closed:
            subscription.close()
        group.subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            group.subscriptions.discard(subscription)
            if not group.subscriptions:
                self._groups.pop(followed, None)
                group.watch.close()
                group.feed.close()

    @contextmanager
    def until_closed(self, leave: Callable[[], None]) -> Iterator[None]:
        """Call `leave` when the host is stopping, at once if it is, while the body runs.

        For who waits for no job by itself. Only in the event loop.
        """
        self._leaving.append(leave)
        if self._closed:
            leave()
        try:
            yield
        finally:
            self._leaving.remove(leave)

    def close(self) -> None:
        """Let everybody go: the host is stopping. Only in the event loop."""
        self._closed = True
        for leave in self._leaving:
            leave()
        for group in self._groups.values():
            for subscription in group.subscriptions:
                subscription.close()

    def __len__(self) -> int:
        return len(self._leaving) + sum(len(group.subscriptions) for group in self._groups.values())

    def _new_group(self, jobs: JobService, followed: _Followed) -> _Group:
        loop = asyncio.get_running_loop()
        key, _ = followed
        watch = ExitStack()
        watch.enter_context(jobs.watch(key, lambda: self._tell(loop, followed)))
        group = _Group(JobFeed(jobs, key, self._kept, self._make_frame), watch)
        self._groups[followed] = group
        return group

    def _tell(self, loop: asyncio.AbstractEventLoop, followed: _Followed) -> None:
        """Note that something has happened to a job. In the thread of the store, for each commit."""
        with self._lock:
            self._told.add(followed)
            if self._waking:
                return
            self._waking = True
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(self._wake_told, loop)

    def _wake_told(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake all whom something has happened to, then look again when they have had their time."""
        with self._lock:
            told, self._told = self._told, set()
            self._waking = bool(told)
        if not told:
            return
        woken = 0
        for followed in told:
            group = self._groups.get(followed)
            if group is not None:
                group.wake()
                woken += len(group.subscriptions)
        loop.call_later(pause_s(woken), self._wake_told, loop)


def pause_s(readers: int) -> float:
    """How long the next group waits for one of so many readers: some must not take all the time."""
    return min(readers * PAUSE_S_A_READER, PAUSE_S_MAX)
