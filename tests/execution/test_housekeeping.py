"""What happens to jobs by itself: those that waited too long end, those kept long enough are wiped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.execution.ending import JobEnding
from cuttlebone.execution.housekeeping import Housekeeper
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job, now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.leases import LEASE_S
from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import JobStatus, dump_json
from execution.accepted import without_specs
from store.stores import DONE, Lives, append, claimed, job, key

SECRET = "a text that nobody else has"
BOUND_S = scaled(10.0)
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
def kept(stores: Stores, clock: Clock) -> Iterator[None]:
    ending = JobEnding(stores.jobs, without_specs(stores.jobs), RunningJobs(), HostMetrics())
    keeper = Housekeeper(
        stores.jobs,
        ending,
        ttl_s=DAY_S,
        clock=clock,
        round_s=0.001,
        sweep_every_s=0,
        renew_every_s=0,
    )
    keeper.start()
    try:
        clock.wait_for_rounds()
        yield
    finally:
        keeper.stop()


def ended(stores: Stores, name: str, *, ttl_s: int | None = None) -> Job:
    asked = replace(
        job(name),
        input=dump_json(SECRET),
        ttl_s=ttl_s,
        callback_url=f"https://a.org/{SECRET.replace(' ', '-')}",
    )
    stores.jobs.insert(asked, waiting_max=9, idempotency_key=f"key of {name}").result()
    running = claimed(stores)
    append(stores, running, EventKind.PROGRESS, SECRET)
    envelope = DONE.model_copy(update={"result": SECRET})
    stores.jobs.finish(running.fence, envelope=envelope, accounting=None)
    return running


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    made = (
        open_memory_stores(kept_max=9)
        if request.param == "memory"
        else open_sqlite_stores(tmp_path)
    )
    yield made
    made.close()


def test_a_job_is_kept_as_long_as_the_host_keeps_any(stores: Stores) -> None:
    ended(stores, "a")
    with kept(stores, Clock(timedelta(seconds=DAY_S - 60))):
        assert stores.jobs.get(key("a")) is not None


def test_a_job_is_wiped_after_that_with_all_that_belongs_to_it(stores: Stores) -> None:
    ended(stores, "a")
    with kept(stores, Clock(timedelta(seconds=DAY_S + 60))):
        assert stores.jobs.get(key("a")) is None
    assert not stores.events.read(key("a"), after=0, limit=9)
    assert not stores.outbox.of(key("a"))
    # Its key is free as well: the request is a new one.
    again = replace(job("b"), request_sha256="another")
    assert stores.jobs.insert(again, waiting_max=9, idempotency_key="key of a").result().id == "b"


def test_a_job_may_say_itself_how_long_it_is_kept(stores: Stores) -> None:
    ended(stores, "short", ttl_s=60)
    ended(stores, "long", ttl_s=9 * DAY_S)
    with kept(stores, Clock(timedelta(seconds=2 * DAY_S))):
        assert stores.jobs.get(key("short")) is None
        assert stores.jobs.get(key("long")) is not None


def test_a_job_that_has_not_ended_is_never_wiped(stores: Stores) -> None:
    stores.jobs.insert(replace(job("a"), ttl_s=1), waiting_max=9).result()
    with kept(stores, Clock(timedelta(seconds=9 * DAY_S))):
        assert stores.jobs.get(key("a")) is not None


def test_a_job_that_waited_longer_than_it_may_ends_as_timeout(stores: Stores) -> None:
    stores.jobs.insert(
        replace(job("a"), expires_at=now() + timedelta(seconds=60)), waiting_max=9
    ).result()
    with kept(stores, Clock(timedelta(seconds=0))):
        found = stores.jobs.get(key("a"))
        assert found is not None
        assert found.status is JobStatus.QUEUED
    with kept(stores, Clock(timedelta(seconds=61))):
        found = stores.jobs.get(key("a"))
    assert found is not None
    assert found.status is JobStatus.FAILED


def files_have(folder: Path, text: str) -> bool:
    return text.encode() in b"".join(path.read_bytes() for path in folder.iterdir())


def test_of_what_was_wiped_nothing_is_left_in_the_files(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    ended(stores, "a")
    assert files_have(tmp_path, SECRET)
    with kept(stores, Clock(timedelta(seconds=DAY_S + 60))):
        assert not files_have(tmp_path, SECRET)
        assert not files_have(tmp_path, SECRET.replace(" ", "-"))
    stores.close()


def test_of_a_job_that_was_forgotten_nothing_is_left_in_the_files(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    ended(stores, "a")
    assert stores.jobs.forget(key("a"))
    assert not files_have(tmp_path, SECRET)
    stores.close()


def test_a_store_that_is_closed_is_one_file_and_its_mark(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    ended(stores, "a")
    assert stores.jobs.get(key("a")) is not None
    stores.close()
    assert {path.name for path in tmp_path.iterdir()} == {
        "jobs.sqlite",
        "jobs.sqlite-mark",
        "lock",
    }


def test_what_a_host_runs_stays_its_own_as_long_as_its_housekeeper_goes_round(
    lives: Lives,
) -> None:
    one, two = lives.begin("one"), lives.begin("two")
    one.jobs.insert(job("a"), waiting_max=9).result()
    claimed(one)
    lives.clock.move_on(LEASE_S - 1)
    with kept(one, Clock(timedelta(seconds=0))):
        lives.clock.move_on(LEASE_S - 1)
        assert not two.jobs.recover()
    lives.clock.move_on(LEASE_S)

    assert [taken.id for taken in two.jobs.recover()] == ["a"]
