"""Waiting for the end of a job, or of all that are meant, without holding a thread."""

import asyncio
from contextlib import suppress
from typing import Final

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from cuttlebone.api.subscribers import Subscribers, Subscription
from cuttlebone.job.job import Job, JobKey
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.job_service import JobService

WAIT_S_MAX: Final = 60
"""The longest that one request waits."""
LOOKS_PAUSE_S: Final = 0.05
"""Between two looks at many jobs: whatever happens to any job on the host wakes who waits for them."""


async def until_final(
    request: Request, jobs: JobService, subscription: Subscription, key: JobKey, wait_s: float
) -> Job:
    """Return the job when it has ended, after `wait_s`, or when host or client go; raise CallerError."""
    client_gone = asyncio.create_task(_disconnected(request))
    client_gone.add_done_callback(lambda _: subscription.wake())
    try:
        async with asyncio.timeout(wait_s):
            while True:
                subscription.begin_look()
                found = await subscription.feed.status()
                if found.status.final or subscription.closed or client_gone.done():
                    break
                await subscription.changed()
    except TimeoutError:
        pass  # then it is shown as it stands
    finally:
        client_gone.cancel()
    return await run_in_threadpool(jobs.get, key)


async def until_none_live(
    request: Request,
    jobs: JobService,
    subscribers: Subscribers,
    wanted: JobFilter,
    wait_s: float,
) -> int:
    """Return how many jobs that are meant have not ended: at once if none, else as `until_final` does."""
    loop = asyncio.get_running_loop()
    woken, over = asyncio.Event(), asyncio.Event()

    def leave() -> None:
        over.set()
        woken.set()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(woken.set)

    client_gone = asyncio.create_task(_disconnected(request))
    client_gone.add_done_callback(lambda _: leave())
    try:
        with subscribers.until_closed(leave), jobs.watch_all(wake):
            async with asyncio.timeout(wait_s):
                while await run_in_threadpool(jobs.pending, wanted) and not over.is_set():
                    await woken.wait()
                    await asyncio.sleep(LOOKS_PAUSE_S)
                    woken.clear()
    except TimeoutError:
        pass  # then they are shown as they stand
    finally:
        client_gone.cancel()
    return await run_in_threadpool(jobs.pending, wanted)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
