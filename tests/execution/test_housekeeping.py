"""What happens to jobs by itself: those that waited too long end, those kept long enough are wiped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cuttlebone.execution.ending import JobEnding
from cuttlebone.execution.housekeeping import Housekeeper
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job, now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.memory.jobs import MemoryJobStore
from cuttlebone.store.sqlite import SqliteJobStore
from cuttlebone.store.watchers import Watchers
from cuttlebone_abi import JobStatus, dump_json
from execution.accepted import without_specs
from store.stores import DONE, append, claimed, job

SECRET = "a text that nobody else has"
BOUND_S = 10.0
DAY_S = 24 * 3600


class Clock:
    """Shows a moment of its own; a round of the housekeeper looks at it at least once."""

    def __init__(self, after: timedelta) -> None:
        self._after = after
        self._looks = threading.Semaphore(0)

    def __call__(self) -> datetime:
        self._looks.release()
        return now() + self._after

    def wait_for_rounds(self) -> None:
        """Wait until whatever had to be done at this time has been done."""
        for _ in range(8):
            assert self._looks.acquire(timeout=BOUND_S)


@contextmanager
def kept(store: JobStore, clock: Clock) -> Iterator[None]:
    ending = JobEnding(store, without_specs(store), Watchers(), RunningJobs(), HostMetrics())
    keeper = Housekeeper(store, ending, ttl_s=DAY_S, clock=clock, round_s=0.001, sweep_every_s=0)
    keeper.start()
    try:
        clock.wait_for_rounds()
        yield
    finally:
        keeper.stop()


def ended(store: JobStore, name: str, *, ttl_s: int | None = None) -> Job:
    asked = replace(
        job(name),
        input=dump_json(SECRET),
        ttl_s=ttl_s,
        callback_url=f"https://a.org/{SECRET.replace(' ', '-')}",
    )
    store.accept(asked, waiting_max=9, idempotency_key=f"key of {name}").result()
    running = claimed(store)
    append(store, running, EventKind.PROGRESS, SECRET)
    store.finish(
        name, attempt=1, envelope=DONE.model_copy(update={"result": SECRET}), accounting=None
    )
    return running


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    made: JobStore = (
        MemoryJobStore(kept_max=9) if request.param == "memory" else SqliteJobStore(tmp_path)
    )
    yield made
    made.close()


def test_a_job_is_kept_as_long_as_the_host_keeps_any(store: JobStore) -> None:
    ended(store, "a")
    with kept(store, Clock(timedelta(seconds=DAY_S - 60))):
        assert store.get("a") is not None


def test_a_job_is_wiped_after_that_with_all_that_belongs_to_it(store: JobStore) -> None:
    ended(store, "a")
    with kept(store, Clock(timedelta(seconds=DAY_S + 60))):
        assert store.get("a") is None
    assert not store.events("a", after=0, limit=9)
    assert not store.deliveries.of("a")
    # Its key is free as well: the request is a new one.
    again = replace(job("b"), request_sha256="another")
    assert store.accept(again, waiting_max=9, idempotency_key="key of a").result().id == "b"


def test_a_job_may_say_itself_how_long_it_is_kept(store: JobStore) -> None:
    ended(store, "short", ttl_s=60)
    ended(store, "long", ttl_s=9 * DAY_S)
    with kept(store, Clock(timedelta(seconds=2 * DAY_S))):
        assert store.get("short") is None
        assert store.get("long") is not None


def test_a_job_that_has_not_ended_is_never_wiped(store: JobStore) -> None:
    store.accept(replace(job("a"), ttl_s=1), waiting_max=9).result()
    with kept(store, Clock(timedelta(seconds=9 * DAY_S))):
        assert store.get("a") is not None


def test_a_job_that_waited_longer_than_it_may_ends_as_timeout(store: JobStore) -> None:
    store.accept(
        replace(job("a"), expires_at=now() + timedelta(seconds=60)), waiting_max=9
    ).result()
    with kept(store, Clock(timedelta(seconds=0))):
        found = store.get("a")
        assert found is not None
        assert found.status is JobStatus.QUEUED
    with kept(store, Clock(timedelta(seconds=61))):
        found = store.get("a")
    assert found is not None
    assert found.status is JobStatus.FAILED


def files_have(folder: Path, text: str) -> bool:
    return text.encode() in b"".join(path.read_bytes() for path in folder.iterdir())


def test_of_what_was_wiped_nothing_is_left_in_the_files(tmp_path: Path) -> None:
    store = SqliteJobStore(tmp_path)
    ended(store, "a")
    assert files_have(tmp_path, SECRET)
    with kept(store, Clock(timedelta(seconds=DAY_S + 60))):
        assert not files_have(tmp_path, SECRET)
        assert not files_have(tmp_path, SECRET.replace(" ", "-"))
    store.close()


def test_of_a_job_that_was_forgotten_nothing_is_left_in_the_files(tmp_path: Path) -> None:
    store = SqliteJobStore(tmp_path)
    ended(store, "a")
    assert store.forget("a")
    assert not files_have(tmp_path, SECRET)
    store.close()


def test_a_store_that_is_closed_is_one_file(tmp_path: Path) -> None:
    store = SqliteJobStore(tmp_path)
    ended(store, "a")
    assert store.get("a") is not None
    store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"jobs.sqlite", "lock"}
