"""A wall clock that somebody sets, back or forth, under a whole host: nothing of a job depends on it."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cuttlebone.job.host_time import HostTime
from cuttlebone.job.job import Job, Submission
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.host import Host
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Failed, JobStatus, Json
from hosts import BOUND_S, ended, scripted_host, until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR_S = 3_600
JUMPS = pytest.mark.parametrize("jump_s", [-HOUR_S, HOUR_S])


class Hands:
    """The wall and the seconds since the machine is on. Any thread may read them."""

    def __init__(self) -> None:
        self._wall, self._elapsed_s = NOON, 0.0

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock on the wall."""
        self._wall += timedelta(seconds=seconds)

    def pass_by(self, seconds: float) -> None:
        """Time goes by, on the wall as well."""
        self._wall += timedelta(seconds=seconds)
        self._elapsed_s += seconds

    def time(self) -> HostTime:
        return HostTime.of(lambda: self._wall, lambda: self._elapsed_s)


class Gate:
    """A block that ends when the test lets it."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, _guest: ScriptedGuest, value: Json) -> Commands:
        yield {"cmd": "emit", "progress": "runs"}
        assert self.open.wait(BOUND_S)
        yield {"cmd": "done", "result": value}


def held(guest: ScriptedGuest, _value: Json) -> Commands:
    """The same block while its gate is closed, in a host that stops."""
    yield {"cmd": "emit", "progress": "runs"}
    guest.spin()


def submit(host: Host, name: str, expires_in_s: int | None = None) -> Job:
    return host.jobs.submit(Submission("gate", name, job_id=name, expires_in_s=expires_in_s))


def in_order_of_start(host: Host) -> list[str]:
    jobs = host.jobs.find(JobFilter())
    return [one.id for one in sorted(jobs, key=lambda one: (one.started_at or NOON, one.number))]


def queue_seconds(host: Host) -> float:
    families = text_string_to_metric_families(host.status.metrics.exposition().decode())
    (family,) = (one for one in families if one.name == "cuttlebone_job_queue_seconds")
    return next(one.value for one in family.samples if one.name.endswith("_sum"))


@JUMPS
@pytest.mark.parametrize("durable", [False, True])
def test_durations_and_order_are_as_without_the_jump(
    tmp_path: Path, jump_s: int, *, durable: bool
) -> None:
    hands, gate = Hands(), Gate()
    state = tmp_path / "state" if durable else None
    with scripted_host(
        tmp_path, {"gate": gate}, time=hands.time(), state=state, jobs_running_max=1
    ) as host:
        first = submit(host, "job-first")
        until(host, first, lambda job: job.progress == "runs")
        submit(host, "job-before")
        hands.jump(jump_s)
        hands.pass_by(7)
        last = submit(host, "job-after")
        gate.open.set()
        after = ended(host, last)
        jobs = {one.id: one for one in host.jobs.find(JobFilter())}
        waited_s = queue_seconds(host)
        order = in_order_of_start(host)

    waited_ms = {name: one.accounting.queue_ms for name, one in jobs.items() if one.accounting}
    assert waited_ms == {"job-first": 0, "job-before": 7_000, "job-after": 0}
    assert waited_s == 7.0
    assert order == ["job-first", "job-before", "job-after"]
    assert after.created_at == after.started_at == after.finished_at == NOON + timedelta(seconds=7)


@JUMPS
def test_a_job_expires_when_its_seconds_are_over_and_not_before(
    tmp_path: Path, jump_s: int
) -> None:
    hands, gate = Hands(), Gate()
    with scripted_host(tmp_path, {"gate": gate}, time=hands.time(), jobs_running_max=1) as host:
        until(host, submit(host, "job-first"), lambda job: job.progress == "runs")
        patient = submit(host, "job-patient", expires_in_s=60)
        hasty = submit(host, "job-hasty", expires_in_s=20)
        hands.jump(jump_s)
        hands.pass_by(30)
        gone = ended(host, hasty)  # so a round was made since the jump
        still = host.jobs.get(patient.key)
        hands.pass_by(31)
        late = ended(host, patient)
        gate.open.set()

    assert still.status is JobStatus.QUEUED
    for job in (gone, late):
        assert isinstance(job.envelope, Failed)
        assert job.envelope.error.message.startswith("expires_in_s")


def test_a_host_that_starts_with_a_clock_set_back_goes_on_in_order(tmp_path: Path) -> None:
    hands, state = Hands(), tmp_path / "state"
    with scripted_host(
        tmp_path, {"gate": held}, time=hands.time(), state=state, jobs_running_max=1
    ) as host:
        until(host, submit(host, "job-first"), lambda job: job.progress == "runs")
        submit(host, "job-before")
    hands.jump(-HOUR_S)
    gate = Gate()
    gate.open.set()
    with scripted_host(
        tmp_path, {"gate": gate}, time=hands.time(), state=state, jobs_running_max=1
    ) as host:
        ended(host, submit(host, "job-after"))
        jobs = host.jobs.find(JobFilter())

    assert all(one.status is JobStatus.COMPLETED for one in jobs)  # it was the last in line
    for one in jobs:
        assert one.accounting is not None
        assert one.accounting.queue_ms >= 0
        assert one.created_at <= (one.started_at or NOON) <= (one.finished_at or NOON)
