"""The job service over a whole host with scripted guests: submit, watch, cancel, stop."""

from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import TENANT, Job, JobKey, Submission
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.job_options import Limits
from cuttlebone.service.host import Host
from cuttlebone_abi import Cancelled, Completed, Failed, JobStatus, Signature, parse_type
from execution.scripts import spin
from guest_scripts import report_and_echo
from hosts import ended, scripted_host, until


def spinning(host: Host, job: Job) -> Job:
    return until(host, job, lambda one: one.progress == "spinning")


def test_a_job_runs_to_its_envelope(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"echo": report_and_echo}) as host:
        job = host.jobs.submit(Submission("echo", {"a": 1}, labels={"team": "x"}))
        done = ended(host, job)

        assert isinstance(done.envelope, Completed)
        assert done.envelope.result == {"a": 1}
        assert (done.labels, done.attempt, done.progress) == ({"team": "x"}, 1, {"step": 1})
        assert done.accounting is not None
        assert done.accounting.steps == 2


def test_the_event_log_tells_the_whole_story(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"echo": report_and_echo}) as host:
        job = ended(host, host.jobs.submit(Submission("echo", 5)))
        events = host.jobs.events(job.key, after=0)

    assert [(event.number, event.kind) for event in events] == [
        (1, EventKind.STATUS),
        (2, EventKind.STATUS),
        (3, EventKind.PROGRESS),
        (4, EventKind.STATUS),
        (5, EventKind.RESULT),
    ]
    assert events[4].data["result"] == 5


def test_an_input_that_does_not_fit_is_refused_with_pointers(tmp_path: Path) -> None:
    signature = Signature(input=parse_type("{path: text}"))
    with (
        scripted_host(tmp_path, {"echo": report_and_echo}, signature=signature) as host,
        pytest.raises(CallerError) as caught,
    ):
        host.jobs.submit(Submission("echo", {"path": 1}))

    assert caught.value.code is ProblemCode.SCHEMA_VALIDATION_FAILED
    assert caught.value.faults[0].pointer == "/input/path"
    assert host.jobs.find(JobFilter()) == []


def test_a_full_queue_refuses_and_loses_nothing(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"spin": spin}, jobs_running_max=1, jobs_waiting_max=1) as host:
        first = host.jobs.submit(Submission("spin", 1))
        spinning(host, first)
        second = host.jobs.submit(Submission("spin", 2))
        with pytest.raises(CallerError, match="1 jobs wait already") as caught:
            host.jobs.submit(Submission("spin", 3))

        assert caught.value.code is ProblemCode.QUEUE_FULL
        assert caught.value.retry_after_s is not None
        place = host.jobs.place(second)
        assert place is not None
        assert place.position == 0


def test_a_running_job_is_cancelled(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"spin": spin}) as host:
        job = host.jobs.submit(Submission("spin", 1))
        spinning(host, job)
        host.jobs.cancel(job.key)
        done = ended(host, job)

    assert isinstance(done.envelope, Cancelled)
    assert done.envelope.error.code == "cancelled"


def test_a_queued_job_is_cancelled_at_once(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"spin": spin}, jobs_running_max=1) as host:
        running = host.jobs.submit(Submission("spin", 1))
        spinning(host, running)
        waiting = host.jobs.submit(Submission("spin", 2))

        assert host.jobs.cancel(waiting.key).status is JobStatus.CANCELLED
        assert host.jobs.get(running.key).status is JobStatus.RUNNING


def test_cancelling_a_job_that_has_ended_changes_nothing(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"echo": report_and_echo}) as host:
        done = ended(host, host.jobs.submit(Submission("echo", 1)))

        assert host.jobs.cancel(done.key) == done


def test_a_job_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"spin": spin}, more="limits: {time_ms: 50}") as host:
        done = ended(host, host.jobs.submit(Submission("spin", 1)))

    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "timeout"
    assert "time_ms" in done.envelope.error.message


def test_a_request_narrows_limits_and_never_widens_them(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"echo": report_and_echo}, more="limits: {steps: 100}") as host:
        stated = Limits(steps=1000, handles=3)
        job = host.jobs.submit(Submission("echo", 1, limits=stated))

    assert (job.limits.steps, job.limits.handles) == (100, 3)


def test_an_unknown_job_is_said_to_be_unknown(tmp_path: Path) -> None:
    with (
        scripted_host(tmp_path, {"echo": report_and_echo}) as host,
        pytest.raises(CallerError, match="there is no job 'nope'") as caught,
    ):
        host.jobs.get(JobKey(TENANT, "nope"))

    assert caught.value.code is ProblemCode.UNKNOWN_JOB


def test_at_a_stop_every_accepted_job_gets_its_envelope(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"spin": spin}, jobs_running_max=1, grace_s=0.01) as host:
        jobs = [host.jobs.submit(Submission("spin", number)) for number in range(4)]
        spinning(host, jobs[0])

    envelopes = [host.jobs.get(job.key).envelope for job in jobs]
    assert all(isinstance(one, Cancelled) for one in envelopes)
    with pytest.raises(CallerError) as caught:
        host.jobs.submit(Submission("spin", 9))
    assert caught.value.code is ProblemCode.STOPPING


def test_many_jobs_over_few_threads_all_end_with_their_own_result(tmp_path: Path) -> None:
    with scripted_host(tmp_path, {"echo": report_and_echo}, jobs_running_max=3) as host:
        jobs = [host.jobs.submit(Submission("echo", number)) for number in range(60)]
        results = [ended(host, job).envelope for job in jobs]

    assert [one.result for one in results if isinstance(one, Completed)] == list(range(60))
