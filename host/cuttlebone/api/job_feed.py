"""What all who follow one job share: each look at its event log, its bytes, and where the job stands."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

from cuttlebone.api.event_frames import LARGE_BYTES_MIN, EventFrame, event_frame, gap_frame
from cuttlebone.errors import CallerError
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import JobKey, JobStatusRow
from cuttlebone.service.job_service import JobService

KEPT_BYTES_MAX: Final = 32 << 20
"""Of the frames of all jobs that are followed. What is before them is read from the store again."""
KEPT_LOOKS_MAX: Final = 64
"""Looks of one job that are kept."""

T = TypeVar("T")
MakeFrame: TypeAlias = Callable[[JobEvent], EventFrame]


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at an event log has found behind an event."""

    after: int
    frames: Sequence[EventFrame] = ()
    ended: bool = False
    """No further events will come."""
    forgotten: bool = False
    _parts: list[bytes | EventFrame] = field(default_factory=list, repr=False, compare=False)

    def parts(self) -> Sequence[bytes | EventFrame]:
        """What a stream carries: small events together, large ones by themselves, gaps where numbers lack.

        Put together once for all readers: many go on in the same moment.
        """
        if self.frames and not self._parts:
            self._parts.extend(_joined(self.after, self.frames))
        return self._parts

    @property
    def last(self) -> int:
        """The number of the last event that was found."""
        return self.frames[-1].number if self.frames else self.after

    def size_bytes(self) -> int:
        """What its frames take."""
        return sum(len(frame.bytes) for frame in self.frames)

    def behind(self, after: int) -> "Look":
        """What a look behind a later event would have found."""
        if after == self.after:
            return self
        left = [one for one in self.frames if one.number > after]
        return replace(self, after=after, frames=left, _parts=[])


class KeptLooks:
    """The looks that were found last, over all feeds. Owner: the event loop.

    Invariant: no more than `bytes_max` are kept, but for the last look.
    """

    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._looks: OrderedDict[tuple[object, int], tuple[Look, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, feed: object, look: Look) -> None:
        """Keep a look that found something."""
        size = look.size_bytes()
        self._drop((feed, look.after))
        self._looks[feed, look.after] = (look, size)
        self._bytes += size
        while self._bytes > self._bytes_max and len(self._looks) > 1:
            self._drop(next(iter(self._looks)))

    def find(self, feed: object, starts: Sequence[int], after: int) -> Look | None:
        """What was found behind an event, by a look that began at one of `starts`."""
        for start in starts:
            look, _ = self._looks.get((feed, start), (None, 0))
            if look is not None and look.after <= after < look.last:
                return look.behind(after)
        return None

    def drop(self, feed: object, starts: Sequence[int]) -> None:
        """Keep nothing more of a feed."""
        for start in starts:
            self._drop((feed, start))

    def _drop(self, place: tuple[object, int]) -> None:
        _, size = self._looks.pop(place, (None, 0))
        self._bytes -= size


class JobFeed:
    """One job as its followers see it. Owner: the event loop.

    Invariants: of those who ask for the same at the same time, one goes to the store; an event has
    one frame as long as anybody holds it; nobody is given what was found before the last `changed`,
    unless it cannot change any more.
    """

    def __init__(
        self, jobs: JobService, key: JobKey, kept: KeptLooks, make_frame: MakeFrame = event_frame
    ) -> None:
        self._jobs = jobs
        self._key = key
        self._kept = kept
        self._make_frame = make_frame
        self._frames: WeakValueDictionary[int, EventFrame] = WeakValueDictionary()
        self._reading = asyncio.Lock()
        self._starts: list[int] = []
        self._closed = False
        self._changes = 0
        self._asked: dict[tuple[int, int], asyncio.Task[Look]] = {}
        self._status: asyncio.Task[JobStatusRow] | None = None

    def changed(self) -> None:
        """Something has happened to the job."""
        self._changes += 1
        self._asked.clear()
        self._status = None

    async def look(self, after: int) -> Look:
        """Find the next events behind one, and only where there are none whether there will be any."""
        found = self._kept.find(self, self._starts, after)
        if found is not None:
            return found
        place = (self._changes, after)
        task = self._asked.get(place)
        if task is None:
            task = self._asked[place] = _begun(self._look(after))
        return await asyncio.shield(task)

    async def status(self) -> JobStatusRow:
        """Where the job stood after the last change; raise CallerError `unknown_job`."""
        if self._status is None:
            self._status = _begun(run_in_threadpool(self._jobs.status, self._key))
        return await asyncio.shield(self._status)

    async def start_after(self, after: int) -> int:
        """Return after which event a stream that is to go on after `after` can go on.

        It is 0 where the log never came that far: then it is the log of another job of that id.
        """
        if after == 0:
            return 0
        try:
            # Not the shared one, which may be older than what the reader has seen.
            found = await run_in_threadpool(self._jobs.status, self._key)
        except CallerError:
            return after  # forgotten meanwhile, which the first look says
        return after if after <= found.last_event else 0

    def close(self) -> None:
        """Nobody follows the job any more."""
        self._closed = True
        self._kept.drop(self, self._starts)
        self._starts.clear()

    async def _look(self, after: int) -> Look:
        async with self._reading:
            look = self._kept.find(self, self._starts, after)
            if look is not None:
                return look
            look = await run_in_threadpool(self._read, after)
        if look.frames and not self._closed:
            self._kept.keep(self, look)
            self._starts.append(after)
            if len(self._starts) > KEPT_LOOKS_MAX:
                self._kept.drop(self, [self._starts.pop(0)])
        self._asked.pop((self._changes, after), None)
        return look

    # In a thread.

    def _read(self, after: int) -> Look:
        events = self._jobs.events(self._key, after=after)
        ended = False
        if not events:
            try:
                ended = self._jobs.status(self._key).status.final
            except CallerError:
                return Look(after, ended=True, forgotten=True)
            # Once more if it has: the last ones may have come between the two.
            events = self._jobs.events(self._key, after=after) if ended else ()
        return Look(after, [self._frame(event) for event in events], ended=ended)

    def _frame(self, event: JobEvent) -> EventFrame:
        frame = self._frames.get(event.number)
        if frame is None:
            frame = self._frames[event.number] = self._make_frame(event)
        return frame


def _joined(after: int, frames: Sequence[EventFrame]) -> Iterator[bytes | EventFrame]:
    small: list[bytes] = []
    for frame in frames:
        if frame.number != after + 1:
            small.append(gap_frame(after, frame.number))
        after = frame.number
        if frame.data_bytes < LARGE_BYTES_MIN:
            small.append(frame.bytes)
            continue
        yield b"".join(small)
        small.clear()
        yield frame
    yield b"".join(small)


def _begun(ask: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin to ask on behalf of several: none of them ends it by going, and it may fail unheard."""
    task = asyncio.ensure_future(ask)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
