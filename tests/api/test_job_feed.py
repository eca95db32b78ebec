"""What many readers of one job cost: each event is read and written once, whoever follows it and however slowly."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.hosted import BOUND_S, Api, Gate, served
from cuttlebone.api.event_frames import EventFrame, event_frame
from cuttlebone.api.event_stream import event_stream
from cuttlebone.api.job_feed import KEPT_LOOKS_MAX, JobFeed, KeptLooks, Look
from cuttlebone.api.subscribers import Subscribers
from cuttlebone.http_types import Health
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import TENANT, Job, JobKey, JobStatusRow, Submission
from cuttlebone.service.job_service import JobService

READERS = 40
SNAPSHOT = Health(status="", version="")
AT = datetime(2026, 1, 1, tzinfo=UTC)


class CountsFrames:
    """Makes frames and counts how often the one of each event was made."""

    def __init__(self) -> None:
        self.made: Counter[int] = Counter()

    def __call__(self, event: JobEvent) -> EventFrame:
        self.made[event.number] += 1
        return event_frame(event)


class CountsLooks(JobService):
    """A job service that counts what it is asked. Owned by one test."""

    def __init__(self, whole: JobService) -> None:
        """Take everything else from a service that works."""
        vars(self).update(vars(whole))
        self.watches = self.reads = self.statuses = 0

    def watch(self, key: JobKey, callback: Callable[[], None]) -> AbstractContextManager[None]:
        self.watches += 1
        return super().watch(key, callback)

    def events(self, key: JobKey, *, after: int) -> Sequence[JobEvent]:
        self.reads += 1
        return super().events(key, after=after)

    def status(self, key: JobKey) -> JobStatusRow:
        self.statuses += 1
        return super().status(key)


def kept(api: Api, job_id: str) -> Job:
    return api.host.jobs.get(JobKey(TENANT, job_id))


async def read_all(
    api: Api, jobs: JobService, frames: CountsFrames, job: Job, starts: Sequence[int], gate: Gate
) -> list[bytes]:
    """What as many readers are sent, each from an event of its own, while the job runs."""
    subscribers = Subscribers(frames)
    with ExitStack() as stack:
        streams = [
            event_stream(
                stack.enter_context(subscribers.subscribe(jobs, job)),
                SNAPSHOT,
                start,
                api.host.status.metrics,
            )
            for start in starts
        ]
        for stream in streams:
            await anext(stream)
        gate.open()

        async def rest(stream: object) -> bytes:
            return b"".join([bytes(piece) async for piece in stream])  # type: ignore[attr-defined]  # a stream

        async with asyncio.timeout(BOUND_S):
            return await asyncio.gather(*(rest(stream) for stream in streams))


def test_each_event_is_written_once_whatever_the_number_of_readers(tmp_path: Path) -> None:
    gate, frames = Gate(), CountsFrames()
    with served(tmp_path, {"gate": gate.script}, body_bytes_max=1 << 20) as api:
        jobs = CountsLooks(api.host.jobs)
        submitted = api.submit("gate", "x" * 300_000)
        api.emitted(submitted, "waiting")
        job = kept(api, submitted["id"])
        told = asyncio.run(read_all(api, jobs, frames, job, [0] * READERS, gate))

    assert len(set(told)) == 1
    assert told[0].count(b"\nid: ") == 6
    assert frames.made == Counter(dict.fromkeys(range(1, 7), 1))
    assert jobs.watches == 1
    # A look for each event at most, and a second one after the last: not one for each reader.
    assert jobs.reads <= 8
    assert jobs.statuses <= 8


def test_who_begins_in_the_middle_is_given_what_others_were(tmp_path: Path) -> None:
    gate, frames = Gate(), CountsFrames()
    with served(tmp_path, {"gate": gate.script}) as api:
        submitted = api.submit("gate", 1)
        api.emitted(submitted, "waiting")
        job = kept(api, submitted["id"])
        told = asyncio.run(read_all(api, api.host.jobs, frames, job, [0, 1, 2, 3, 0], gate))

    assert [one.count(b"\nid: ") for one in told] == [6, 5, 4, 3, 6]
    assert frames.made == Counter(dict.fromkeys(range(1, 7), 1))


def test_waits_share_their_looks(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        jobs = CountsLooks(api.host.jobs)
        job = kept(api, api.ended(api.submit("echo"))["id"])

        async def statuses() -> None:
            subscribers = Subscribers()
            with ExitStack() as stack:
                feeds = [
                    stack.enter_context(subscribers.subscribe(jobs, job)).feed
                    for _ in range(READERS)
                ]
                await asyncio.gather(*(feed.status() for feed in feeds))

        asyncio.run(statuses())

    assert (jobs.watches, jobs.statuses) == (1, 1)


def test_a_change_makes_what_is_asked_after_it_a_look_of_its_own(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        jobs = CountsLooks(api.host.jobs)
        key = JobKey(TENANT, api.ended(api.submit("echo"))["id"])

        async def asked() -> None:
            feed = JobFeed(jobs, key, KeptLooks())
            before = asyncio.ensure_future(feed.status())
            await asyncio.sleep(0)
            feed.changed()
            await asyncio.gather(before, feed.status(), feed.status())

        asyncio.run(asked())

    assert jobs.statuses == 2


def test_a_reader_that_goes_takes_nothing_from_the_others(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        key = JobKey(TENANT, api.ended(api.submit("echo"))["id"])

        async def asked() -> Look:
            feed = JobFeed(api.host.jobs, key, KeptLooks())
            goes, stays = asyncio.ensure_future(feed.look(0)), asyncio.ensure_future(feed.look(0))
            await asyncio.sleep(0)
            goes.cancel()
            return await stays

        found = asyncio.run(asked())

    assert [frame.number for frame in found.frames] == [1, 2, 3, 4, 5]


def test_another_job_of_the_same_id_is_another_feed(tmp_path: Path) -> None:
    with served(tmp_path) as api:

        def made(value: str) -> Job:
            api.host.jobs.submit(Submission("echo", value, job_id="same-id-of-two"))
            api.ended(api.http.get("/v1/jobs/same-id-of-two").json())
            return kept(api, "same-id-of-two")

        async def both() -> list[list[bytes]]:
            subscribers, told = Subscribers(), []
            first = made("first")
            with subscribers.subscribe(api.host.jobs, first) as old:
                told.append([frame.bytes for frame in (await old.feed.look(0)).frames])
                api.host.jobs.forget(first.key)
                with subscribers.subscribe(api.host.jobs, made("second")) as new:
                    told.append([frame.bytes for frame in (await new.feed.look(0)).frames])
            return told

        first, second = asyncio.run(both())

    assert b'"first"' in first[-1]
    assert b'"second"' in second[-1]


def look(after: int, size: int) -> Look:
    event = JobEvent(after + 1, EventKind.PROGRESS, b"x" * size, AT)
    return Look(after, [event_frame(event)])


def test_what_is_kept_of_all_feeds_is_bounded() -> None:
    looks, feeds = KeptLooks(bytes_max=10_000), [object() for _ in range(5)]
    for after in range(10):
        for feed in feeds:
            looks.keep(feed, look(after, 1_000))

    found = [looks.find(feed, [after], after) for feed in feeds for after in range(10)]
    assert 0 < sum(one.size_bytes() for one in found if one is not None) <= 10_000
    assert looks.find(feeds[-1], [9], 9) is not None
    assert looks.find(feeds[0], [0], 0) is None


def test_a_feed_keeps_so_many_looks_and_none_once_nobody_follows(api: Api) -> None:
    count = KEPT_LOOKS_MAX + 5
    submitted = api.host.jobs.submit(Submission("say", list(range(count))))
    api.ended(api.http.get(f"/v1/jobs/{submitted.id}").json())
    looks = KeptLooks()

    async def asked() -> list[bool]:
        feed = JobFeed(api.host.jobs, submitted.key, looks)
        for after in reversed(range(count)):
            await feed.look(after)
        there = [looks.find(feed, [after], after) is not None for after in range(count)]
        feed.close()
        return [*there, looks.find(feed, [0], 0) is not None]

    found = asyncio.run(asked())
    assert found == [True] * KEPT_LOOKS_MAX + [False] * 6


@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_is_behind_a_later_event_is_a_part_of_a_look(after: int) -> None:
    events = [JobEvent(number, EventKind.TOKEN, b"1", AT) for number in (1, 2, 3)]
    whole = Look(0, [event_frame(event) for event in events])

    part = whole.behind(after)

    assert (part.after, part.last) == (after, 3)
    assert [frame.number for frame in part.frames] == list(range(after + 1, 4))
