"""The event stream of a job: a snapshot, then every event of its log, without holding a thread."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from pydantic import BaseModel

from cuttlebone.api.event_frames import (
    PING,
    gap_frame,
    link_frame,
    parting_frame,
    pieces,
    snapshot_frame,
)
from cuttlebone.api.subscribers import Subscription
from cuttlebone.job.events import EventKind
from cuttlebone.metrics import HostMetrics

RECONNECT_MS: Final = 2_000
"""When a client should come back to a host that has stopped."""
PING_S: Final = 15.0
"""Silence after which a comment is sent."""


async def event_stream(
    subscription: Subscription,
    snapshot: BaseModel,
    after: int,
    metrics: HostMetrics,
    *,
    links_at: str | None = None,
) -> AsyncIterator[memoryview]:
    """Yield a snapshot, then the events with numbers above `after` until the result.

    It ends early when the host stops, and when a slow reader is overtaken by the host's
    forgetting of the job; each is said. So is every event that cannot be had. With `links_at`,
    where single events are, large ones are links.
    """
    async for frame in _frames(subscription, snapshot, after, metrics, links_at):
        for piece in pieces(frame):
            await subscription.pacer.turn(len(piece))
            yield piece


async def _frames(
    subscription: Subscription,
    snapshot: BaseModel,
    after: int,
    metrics: HostMetrics,
    links_at: str | None,
) -> AsyncIterator[bytes]:
    feed = subscription.feed
    yield snapshot_frame(snapshot)
    start = await feed.start_after(after)
    if start != after:
        yield gap_frame(after, start + 1)
        after = start
    while True:
        subscription.begin_look()
        found = await feed.look(after)
        for part in found.parts():
            match part:
                case bytes():
                    yield part
                case large:
                    yield large.bytes if links_at is None else link_frame(large, links_at)
        after = found.last
        if found.frames and found.frames[-1].kind is EventKind.RESULT:
            return
        if subscription.closed:
            yield parting_frame("the host is stopping", RECONNECT_MS)
            return
        if found.forgotten:
            metrics.event_gap()
            yield gap_frame(after, None)
            return
        if not found.frames:
            if found.ended:
                return
            while not await _changed(subscription):
                yield PING


async def _changed(subscription: Subscription) -> bool:
    """Wait until something happens, or until it is time to say that nothing does."""
    try:
        async with asyncio.timeout(PING_S):
            await subscription.changed()
    except TimeoutError:
        return False
    return True
