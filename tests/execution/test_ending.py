"""How a job ends that does not end by itself: once, counted once, and told to whoever watches."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import structlog

from cuttlebone.errors import JobError
from cuttlebone.execution.ending import CANCELLED, NO_USAGE, JobEnding, stopped
from cuttlebone.execution.housekeeping import Housekeeper, recover
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.job.job import Submission
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Cancelled, ErrorCode, Failed, Failure
from execution.accepted import without_specs
from execution.scripts import spin
from hosts import scripted_host, until
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


def told_of(logs: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    (line,) = (one for one in logs if one["event"] == "job ended")
    return line


def test_the_log_says_whose_job_failed_why_and_after_how_long(ends: Ends) -> None:
    insert(ends.stores, "a")
    failed = stopped(
        JobError(ErrorCode.TIMEOUT, "time_ms"), NO_USAGE.model_copy(update={"duration_ms": 250})
    )
    with structlog.testing.capture_logs() as logs:
        ends.ending.end(claimed(ends.stores), failed)

    line = told_of(logs)
    assert (line["job"], line["tenant"], line["spec"]) == ("a", "local", "echo")
    assert (line["status"], line["code"]) == ("failed", "timeout")
    assert (line["attempt"], line["duration_ms"]) == (1, 250)


def test_the_log_has_no_code_that_a_block_made_up_as_it_may_hold_what_it_has_read(
    ends: Ends,
) -> None:
    insert(ends.stores, "a")
    failed = Failed(error=Failure(code="a secret of the file", message="no"), usage=NO_USAGE)
    with structlog.testing.capture_logs() as logs:
        ends.ending.end(claimed(ends.stores), failed)

    assert told_of(logs)["code"] == "of the block"


def test_the_log_has_no_code_of_a_job_that_went_well(ends: Ends) -> None:
    insert(ends.stores, "a")
    with structlog.testing.capture_logs() as logs:
        ends.ending.end(claimed(ends.stores), DONE)

    assert told_of(logs)["status"] == "completed"
    assert "code" not in told_of(logs)


def test_what_is_put_back_is_not_logged_as_ended(tmp_path: Path) -> None:
    """A durable host that stops: the next one goes on with the job."""
    with (
        structlog.testing.capture_logs() as logs,
        scripted_host(tmp_path, {"spin": spin}, state=tmp_path / "state") as host,
    ):
        job = host.jobs.submit(Submission("spin", None))
        until(host, job, lambda one: one.progress == "spinning")

    told = [(one["event"], one["tenant"]) for one in logs if one.get("job") == job.id]
    assert told == [("job put back to the queue, the next start goes on with it", "local")]
