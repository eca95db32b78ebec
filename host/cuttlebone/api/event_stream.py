"""The event stream of a job: a snapshot, then every event of its log, without holding a thread."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from cuttlebone.api.subscribers import Subscription
from cuttlebone.errors import CallerError
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import JobKey
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.job_service import JobService
from cuttlebone_abi import Json, dump_json

RECONNECT_MS: Final = 2_000
"""When a client should come back to a host that has stopped."""

# JSON allows these as they are, but not every client splits lines only where it should.
_LINE_ENDS: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def first_after(jobs: JobService, key: JobKey, after: int) -> int:
    """Return after which event a stream that is to go on after `after` can go on.

    It is 0 where the log never came that far: then it is the log of another job of that id.
    """
    try:
        return after if after <= jobs.status(key).last_event else 0
    except CallerError:
        return after  # forgotten meanwhile, which the first look says


@dataclass(frozen=True, slots=True)
class _Look:
    """What a look at a job has found."""

    events: Sequence[JobEvent]
    ended: bool = False
    """No further events will come."""
    forgotten: bool = False


def _look(jobs: JobService, key: JobKey, after: int) -> _Look:
    """Find the next events, and only where there are none whether there will be any."""
    events = jobs.events(key, after=after)
    if events:
        return _Look(events)
    try:
        ended = jobs.status(key).status.final
    except CallerError:
        return _Look((), ended=True, forgotten=True)
    # Once more if it has: the last ones may have come between the two.
    return _Look(jobs.events(key, after=after) if ended else (), ended)


async def event_stream(
    jobs: JobService,
    subscription: Subscription,
    snapshot: BaseModel,
    key: JobKey,
    after: int,
    metrics: HostMetrics,
) -> AsyncIterator[ServerSentEvent]:
    """Yield a snapshot, then the events with numbers above `after` until the result.

    It ends early when the host stops, and when a slow reader is overtaken by the host's
    forgetting of the job; each is said. So is every event that cannot be had.
    """
    yield ServerSentEvent(event="snapshot", raw_data=_data(snapshot))
    start = await run_in_threadpool(first_after, jobs, key, after)
    if start != after:
        yield _gap(after, start + 1)
        after = start
    while True:
        subscription.begin_look()
        found = await run_in_threadpool(_look, jobs, key, after)
        for event in found.events:
            if event.number != after + 1:
                yield _gap(after, event.number)
            yield ServerSentEvent(
                id=str(event.number), event=event.kind, raw_data=_text(event.json)
            )
            after = event.number
            if event.kind is EventKind.RESULT:
                return
        if subscription.closed:
            yield ServerSentEvent(comment="the host is stopping", retry=RECONNECT_MS)
            return
        if found.forgotten:
            metrics.event_gap()
            yield _gap(after, None)
            return
        if not found.events:
            if found.ended:
                return
            await subscription.changed()


def _gap(after: int, following: int | None) -> ServerSentEvent:
    """Say that events are missing after one, up to a following one or to the end."""
    return ServerSentEvent(event="gap", raw_data=_data({"after": after, "next": following}))


def _data(value: Json | BaseModel) -> str:
    return _text(dump_json(value))


def _text(json: bytes) -> str:
    return json.decode().translate(_LINE_ENDS)
