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
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.job_service import JobService
from cuttlebone_abi import Json, dump_json

RECONNECT_MS: Final = 2_000
"""When a client should come back to a host that has stopped."""

# JSON allows these as they are, but not every client splits lines only where it should.
_LINE_ENDS: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def first_after(jobs: JobService, job_id: str, after: int) -> int:
    """Return after which event a stream that is to go on after `after` can go on.

    It is 0 where the log never came that far: then it is the log of another job of that id.
    """
    if after == 0 or jobs.events(job_id, after=after - 1):
        return after
    return 0 if jobs.events(job_id, after=0) else after


@dataclass(frozen=True, slots=True)
class _Look:
    """What a look at a job has found."""

    events: Sequence[JobEvent]
    ended: bool
    """No further events will come. Decided before the events were read."""
    forgotten: bool = False


def _look(jobs: JobService, job_id: str, after: int) -> _Look:
    try:
        ended = jobs.get(job_id).status.final
    except CallerError:
        return _Look((), ended=True, forgotten=True)
    return _Look(jobs.events(job_id, after=after), ended)


async def event_stream(
    jobs: JobService,
    subscription: Subscription,
    snapshot: BaseModel,
    job_id: str,
    after: int,
    metrics: HostMetrics,
) -> AsyncIterator[ServerSentEvent]:
    """Yield a snapshot, then the events with numbers above `after` until the result.

    It ends early when the host stops, and when a slow reader is overtaken by the host's
    forgetting of the job; each is said. So is every event that cannot be had.
    """
    yield ServerSentEvent(event="snapshot", raw_data=_data(snapshot))
    start = await run_in_threadpool(first_after, jobs, job_id, after)
    if start != after:
        yield _gap(after, start + 1)
        after = start
    while True:
        subscription.begin_look()
        found = await run_in_threadpool(_look, jobs, job_id, after)
        for event in found.events:
            if event.number != after + 1:
                yield _gap(after, event.number)
            yield ServerSentEvent(
                id=str(event.number), event=event.kind, raw_data=_data(event.data)
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
    return dump_json(value).decode().translate(_LINE_ENDS)
