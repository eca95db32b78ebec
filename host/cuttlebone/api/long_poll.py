"""Waiting for the end of a job without holding a thread."""

import asyncio

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from cuttlebone.api.subscribers import Subscription
from cuttlebone.job.job import Job, JobKey
from cuttlebone.service.job_service import JobService


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


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
