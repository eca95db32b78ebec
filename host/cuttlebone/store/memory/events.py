"""The event logs of the stores in memory."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from cuttlebone.job.events import EventFilter, EventKind, JobEvent, LoggedEvent
from cuttlebone.job.job import Fence, JobKey
from cuttlebone.store.events import EventPage, bad_cursor
from cuttlebone.store.memory.state import MemoryState
from cuttlebone_abi import Json, dump_json


class MemoryEvents:
    """Reads and adds to the logs in the state. See `EventStore`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def append(self, fence: Fence, kind: EventKind, data: Json) -> None:
        """Add to the event log of a running attempt; one that is over adds nothing."""
        json = dump_json(data)
        with self._state.lock:
            kept = self._state.runs(fence)
            if kept is None:
                return
            if kind is EventKind.PROGRESS:
                kept.job = replace(kept.job, progress=data)
            self._state.log(kept, kind, json)
        self._state.watchers.wake((fence.key,))

    def read(self, key: JobKey, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return () if kept is None else kept.events[after : after + limit]

    def count(self, key: JobKey, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return 0 if kept is None else sum(event.kind is kind for event in kept.events)

    def subscribe(
        self, key: JobKey | None, callback: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Call `callback` whenever something has happened to the job, to any job if it is None."""
        return self._state.watchers.watch(key, callback)

    def read_all(self, after: str | None, wanted: EventFilter, *, limit: int) -> EventPage:
        """The next events of all jobs behind a cursor, or the first ones, at most `limit`."""
        with self._state.lock:
            known = self._row(after)
            row = known or 0
            found = [
                (place, logged) for place, logged in self._behind(row) if wanted.matches(logged)
            ]
            last, lost = self._state.last_row, self._state.lost_row
        found.sort(key=lambda pair: pair[0])
        page = found[:limit]
        end = page[-1][0] if len(found) > limit else last
        return EventPage(
            [logged for _, logged in page], self._cursor(end), gaps_lost=known is None or row < lost
        )

    def _behind(self, row: int) -> Iterator[tuple[int, LoggedEvent]]:
        for key, kept in self._state.kept.items():
            start = bisect_right(kept.rows, row)
            for place, event in zip(kept.rows[start:], kept.events[start:], strict=True):
                yield place, LoggedEvent(self._cursor(place), key, event)
        for place, key in self._state.gaps:
            if place > row:
                yield place, LoggedEvent(self._cursor(place), key, None)

    def _cursor(self, row: int) -> str:
        return f"{self._state.life}.{row}"

    def _row(self, cursor: str | None) -> int | None:
        """Where a cursor stands; None for one of an earlier life."""
        if cursor is None:
            return 0
        life, _, row = cursor.partition(".")
        if not (life.isalnum() and row.isascii() and row.isdigit()):
            raise bad_cursor()
        return int(row) if life == self._state.life else None
