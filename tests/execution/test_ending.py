"""How a job ends that does not end by itself: once, counted once, and told to whoever watches."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from cuttlebone.execution.ending import CANCELLED, JobEnding
from cuttlebone.execution.housekeeping import Housekeeper, recover
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Cancelled, ErrorCode, Failed
from execution.accepted import without_specs
from store.stores import DONE, START, Lives, claimed, insert, job, key


class Ends:
    """A host's way to end jobs, and what it has counted and told."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.metrics = HostMetrics()
        self.ending = JobEnding(
            stores.jobs, without_specs(stores.jobs), RunningJobs(), self.metrics
        )

    def counted(self, status: str) -> int:
        shown = self.metrics.exposition().decode().splitlines()
        series = f'cuttlebone_jobs_ended_total{{spec="echo",status="{status}"}} '
        return sum(int(float(line.removeprefix(series))) for line in shown if series in line)

    @contextmanager
    def watched(self, name: str) -> Iterator[None]:
        woken = threading.Event()
        with self.stores.events.subscribe(key(name), woken.set):
            yield
        assert woken.is_set()

    def code(self, name: str) -> str:
        found = self.stores.jobs.get(key(name))
        assert found is not None
        assert isinstance(found.envelope, Failed | Cancelled)
        return found.envelope.error.code


@pytest.fixture
def ends(stores: Stores) -> Ends:
    return Ends(stores)


def test_a_waiting_job_that_is_cancelled_is_counted_and_told(ends: Ends) -> None:
    insert(ends.stores, "a")
    with ends.watched("a"):
        ends.ending.cancel(key("a"))

    assert ends.code("a") == ErrorCode.CANCELLED
    assert ends.counted("cancelled") == 1


def test_a_job_that_waited_too_long_is_counted_and_told(ends: Ends) -> None:
    late = replace(job("a"), expires_at=START)
    ends.stores.jobs.insert(late, waiting_max=9).result()
    keeper = Housekeeper(
        ends.stores.jobs, ends.ending, ttl_s=1, clock=lambda: START + timedelta(seconds=1)
    )
    with ends.watched("a"):
        keeper.expire()

    assert ends.code("a") == ErrorCode.TIMEOUT
    assert ends.counted("failed") == 1


def test_a_job_that_died_with_its_host_too_often_is_counted_and_told(lives: Lives) -> None:
    before = lives.begin()
    insert(before, "a")
    claimed(before)
    lives.end(before)
    ends = Ends(lives.begin())
    with ends.watched("a"):
        recover(ends.stores.jobs, ends.ending, attempts_max=1)

    assert ends.code("a") == ErrorCode.INTERNAL
    assert ends.counted("failed") == 1


def test_a_job_ends_once_however_many_find_its_end(ends: Ends) -> None:
    insert(ends.stores, "a")
    waiting = ends.stores.jobs.get(key("a"))
    assert waiting is not None
    running = claimed(ends.stores)

    assert not ends.ending.end_waiting(waiting, CANCELLED)
    assert ends.ending.end(running, DONE)
    assert not ends.ending.end(running, DONE)
    ends.ending.cancel(key("a"))
    assert (ends.counted("completed"), ends.counted("cancelled")) == (1, 0)


def test_to_cancel_what_nobody_knows_does_nothing(ends: Ends) -> None:
    ends.ending.cancel(key("nope"))

    assert ends.counted("cancelled") == 0
