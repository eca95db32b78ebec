"""Who follows a job is woken in groups: once in the loop for all that happened, and rarer the more there are."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context
from typing import TypeVarTuple

import pytest

from api.hosted import Api
from cuttlebone.api.subscribers import PAUSE_S_A_READER, PAUSE_S_MAX, Subscribers, pause_s
from cuttlebone.job.job import TENANT, Job, JobKey, now
from cuttlebone.job_options import Limits
from cuttlebone.service.job_service import JobService

READERS = 30
Given = TypeVarTuple("Given")


class Told(JobService):
    """A job service whose store tells what the test says. Owned by that test."""

    def __init__(self, whole: JobService) -> None:
        """Take everything else from a service that works."""
        vars(self).update(vars(whole))
        self.callbacks: dict[JobKey, Callable[[], None]] = {}

    @contextmanager
    def watch(self, key: JobKey, callback: Callable[[], None]) -> Iterator[None]:
        self.callbacks[key] = callback
        yield


class CountingLoop(asyncio.SelectorEventLoop):
    """A loop that counts how often another thread has woken it."""

    woken = 0

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Given], object],
        *args: *Given,
        context: Context | None = None,
    ) -> asyncio.Handle:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


def job(name: str, number: int) -> Job:
    return Job(
        id=name,
        spec="echo",
        input=b"",
        limits=Limits(),
        labels={},
        created_at=now(),
        number=number,
    )


@pytest.mark.parametrize("tellings", [1, 50])
def test_the_loop_is_woken_once_for_all_that_happens_to_all_jobs_meanwhile(
    api: Api, tellings: int
) -> None:
    jobs, loop = Told(api.host.jobs), CountingLoop()

    async def woken() -> int:
        subscribers = Subscribers()
        with ExitStack() as stack:
            followers = [
                stack.enter_context(subscribers.subscribe(jobs, job(name, number)))
                for number, name in enumerate(("a", "b", "c"), start=1)
                for _ in range(READERS)
            ]
            for _ in range(tellings):
                for callback in jobs.callbacks.values():
                    callback()
            await asyncio.gather(*(one.changed() for one in followers))
            return loop.woken

    try:
        assert loop.run_until_complete(woken()) == 1
    finally:
        loop.close()
    assert len(jobs.callbacks) == 3


def test_what_happens_while_a_group_has_its_time_wakes_the_next_one(api: Api) -> None:
    jobs = Told(api.host.jobs)

    async def both() -> None:
        with Subscribers().subscribe(jobs, job("a", 1)) as subscription:
            for _ in range(3):
                subscription.begin_look()
                jobs.callbacks[JobKey(TENANT, "a")]()
                async with asyncio.timeout(20):
                    await subscription.changed()

    asyncio.run(both())


def test_one_reader_hardly_waits_and_many_leave_time_to_the_rest() -> None:
    assert pause_s(1) == PAUSE_S_A_READER < 0.001
    assert pause_s(300) == 0.15
    assert pause_s(1_000_000) == PAUSE_S_MAX
