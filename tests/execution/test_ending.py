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
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.watchers import Watchers
from cuttlebone_abi import Cancelled, ErrorCode, Failed
from execution.accepted import without_specs
from store.stores import DONE, START, accept, claimed, job


class Ends:
    """A host's way to end jobs, and what it has counted and told."""

    def __init__(self, store: JobStore) -> None:
        self.store = store
        self.metrics = HostMetrics()
        self.watchers = Watchers()
        self.ending = JobEnding(
            store, without_specs(store), self.watchers, RunningJobs(), self.metrics
        )

    def counted(self, status: str) -> int:
        shown = self.metrics.exposition().decode().splitlines()
        series = f'cuttlebone_jobs_ended_total{{spec="echo",status="{status}"}} '
        return sum(int(float(line.removeprefix(series))) for line in shown if series in line)

    @contextmanager
    def watched(self, name: str) -> Iterator[None]:
        woken = threading.Event()
        with self.watchers.watch(name, woken.set):
            yield
        assert woken.is_set()

    def code(self, name: str) -> str:
        found = self.store.get(name)
        assert found is not None
        assert isinstance(found.envelope, Failed | Cancelled)
        return found.envelope.error.code


@pytest.fixture
def ends(store: JobStore) -> Ends:
    return Ends(store)


def test_a_waiting_job_that_is_cancelled_is_counted_and_told(ends: Ends) -> None:
    accept(ends.store, "a")
    with ends.watched("a"):
        ends.ending.cancel("a")

    assert ends.code("a") == ErrorCode.CANCELLED
    assert ends.counted("cancelled") == 1


def test_a_job_that_waited_too_long_is_counted_and_told(ends: Ends) -> None:
    late = replace(job("a"), expires_at=START)
    ends.store.accept(late, waiting_max=9).result()
    keeper = Housekeeper(
        ends.store, ends.ending, ttl_s=1, clock=lambda: START + timedelta(seconds=1)
    )
    with ends.watched("a"):
        keeper.expire()

    assert ends.code("a") == ErrorCode.TIMEOUT
    assert ends.counted("failed") == 1


def test_a_job_that_died_with_its_host_too_often_is_counted_and_told(ends: Ends) -> None:
    accept(ends.store, "a")
    claimed(ends.store)
    if not ends.store.durable:
        recover(ends.store, ends.ending, attempts_max=1)
        assert ends.counted("failed") == 0  # nothing outlives the host, so nothing died with it
        return
    with ends.watched("a"):
        recover(ends.store, ends.ending, attempts_max=1)

    assert ends.code("a") == ErrorCode.INTERNAL
    assert ends.counted("failed") == 1


def test_a_job_ends_once_however_many_find_its_end(ends: Ends) -> None:
    accept(ends.store, "a")
    waiting = ends.store.get("a")
    assert waiting is not None
    running = claimed(ends.store)

    assert not ends.ending.end_waiting(waiting, CANCELLED)
    assert ends.ending.end(running, DONE)
    assert not ends.ending.end(running, DONE)
    ends.ending.cancel("a")
    assert (ends.counted("completed"), ends.counted("cancelled")) == (1, 0)


def test_to_cancel_what_nobody_knows_does_nothing(ends: Ends) -> None:
    ends.ending.cancel("nope")

    assert ends.counted("cancelled") == 0
