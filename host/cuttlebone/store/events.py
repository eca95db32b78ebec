"""What keeps the event logs of jobs, tells who follows one, and reads the events of all jobs in one order."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.events import EventFilter, EventKind, JobEvent, LoggedEvent
from cuttlebone.job.job import Fence, JobKey
from cuttlebone_abi import Json

GAPS_KEPT_MAX: Final = 100_000
"""Forgotten jobs that the log over all jobs still names, the last ones."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events of all jobs, in the order in which they were written."""

    events: Sequence[LoggedEvent]
    cursor: str
    """Where to go on, also where nothing was found."""
    gaps_lost: bool
    """Jobs were forgotten since the cursor that are not named any more, or it is of a log that was
    put away: list the jobs to know which there are."""


class EventStore(Protocol):
    """Keeps the event log of each job, numbered from 1 without a gap. Any thread may call it.

    Invariant: an event can be read, and wakes its subscribers, only once it is as durable as the
    store can make it.
    """

    def append(self, fence: Fence, kind: EventKind, data: Json) -> None:
        """Add to the event log of a running attempt; one that is over adds nothing.

        A progress event becomes the job's progress too. May return before the event is durable;
        whatever is recorded or finished later is so after it.
        """

    def read(self, key: JobKey, *, after: int, limit: int) -> Sequence[JobEvent]:
        """The events with numbers above `after`, in order, at most `limit`.

        There may be fewer at a time where they are large, but none only if there are none.
        """

    def count(self, key: JobKey, kind: EventKind) -> int:
        """How many events of one kind the log of a job has."""

    def subscribe(
        self, key: JobKey | None, callback: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Call `callback` whenever something has happened to the job, to any job if it is None.

        It is called once for all that became durable together, in a thread of the store, and must
        be quick. It carries no data: whoever is woken, be it twice or late, reads the log.
        """

    def read_all(self, after: str | None, wanted: EventFilter, *, limit: int) -> EventPage:
        """The next events of all jobs behind a cursor, or the first ones, at most `limit`.

        A forgotten job is one gap, told to those whose cursor is before its last event. Raises
        CallerError `bad_request` for a cursor that this store did not give.
        """


def bad_cursor() -> CallerError:
    """The refusal of a cursor that no store gave."""
    return CallerError(
        ProblemCode.BAD_REQUEST, "this is no cursor of the event log; use one as it was given"
    )
