"""Jobs that survive: what a host left when it died or stopped, the next one goes on with.

A crash is played by copying the state folder while a job is in the middle of it: the copy is
what a host that was killed at that moment would have left.
"""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job, Submission
from cuttlebone.service.host import Host
from cuttlebone.testing import Commands, Script, ScriptedGuest, ScriptedModel
from cuttlebone_abi import Cancelled, Completed, Failed, JobStatus, Json
from execution.scripts import spin
from guest_scripts import echo
from hosts import ended, scripted_host, serving, until
from store.sqlite.damage import copy_state

MORE = "model: small\ncapabilities: {read: [./texts]}"


class Block:
    """A block that reads, asks the model, reports; and, in its first life, waits for the crash."""

    def __init__(self) -> None:
        self.first_life = True
        self.heard: list[str] = []

    def __call__(self, guest: ScriptedGuest, _value: Json) -> Commands:
        self.heard.clear()
        opened = yield {"cmd": "open", "path": "texts/a.txt"}
        read = yield {"cmd": "slice", "handle": 1, "offset": 0, "len": opened["len"]}
        yield {"cmd": "emit", "progress": "read"}
        said = yield {"cmd": "infer", "prompt": "count", "max_tokens": 20}
        yield {"cmd": "emit", "progress": "asked"}
        if self.first_life:
            guest.spin()
        more = yield {"cmd": "infer", "prompt": "again", "max_tokens": 20}
        yield {"cmd": "done", "result": [read["text"], said["text"], more["text"], self.heard[:]]}

    def hear(self, piece: str) -> bool:
        """Its `cf_on_token`, which changes what it knows."""
        self.heard.append(piece)
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    specs = tmp_path / "specs"
    (specs / "texts").mkdir(parents=True)
    (specs / "texts" / "a.txt").write_text("what it reads")
    return specs


def model() -> ScriptedModel:
    return ScriptedModel({"count": "one two", "again": "three"})


class Crash:
    """A host that died in the middle of a job of `Block`, and how to start the next one."""

    def __init__(self, folder: Path, block: Block) -> None:
        self.folder = folder
        self.block = block
        self.state = folder.parent / "after"
        before = folder.parent / "before"
        with self._host(before, model()) as host:
            self.job = host.jobs.submit(Submission("block", {}))
            until(host, self.job, lambda job: job.progress == "asked")
            copy_state(before, self.state)
            host.jobs.cancel(self.job.key)
        block.first_life = False

    def _host(
        self, state: Path, fake: ScriptedModel, *, attempts_max: int = 3
    ) -> AbstractContextManager[Host]:
        return scripted_host(
            self.folder,
            {"block": self.block},
            endpoints=serving("small", fake),
            more=MORE,
            on_token=self.block.hear,
            state=state,
            attempts_max=attempts_max,
        )

    def restart(
        self, fake: ScriptedModel | None = None, *, attempts_max: int = 3
    ) -> AbstractContextManager[Host]:
        return self._host(self.state, fake or model(), attempts_max=attempts_max)


@pytest.fixture
def crash(folder: Path) -> Crash:
    return Crash(folder, Block())


def test_a_job_goes_on_after_a_crash(crash: Crash) -> None:
    with crash.restart() as host:
        done = ended(host, crash.job)

    assert isinstance(done.envelope, Completed)
    assert done.envelope.result == [
        "what it reads",
        "one two",
        "three",
        ["one", " two", "three"],
    ]
    assert (done.attempt, done.crashes) == (2, 1)


def test_a_finished_generation_is_not_paid_again_but_still_counted(crash: Crash) -> None:
    again = model()
    with crash.restart(again) as host:
        done = ended(host, crash.job)

    prompts = [again.said(run.slot) for batch in again.batches for run in batch]
    assert not any("count" in prompt for prompt in prompts)
    assert done.envelope is not None
    assert done.envelope.usage.tokens_out == 3 + 2  # "one two" and its end, "three" and its end


def test_progress_and_finished_text_are_told_once(crash: Crash) -> None:
    with crash.restart() as host:
        ended(host, crash.job)
        events = host.jobs.events(crash.job.key, after=0)

    told = [event.data for event in events if event.kind is EventKind.PROGRESS]
    pieces = [event.data["text"] for event in events if event.kind is EventKind.TOKEN]
    assert told == ["read", "asked"]
    assert pieces == ["one", " two", "three"]
    assert [event.number for event in events] == list(range(1, len(events) + 1))


def test_an_input_that_changed_meanwhile_is_noticed(crash: Crash) -> None:
    (crash.folder / "texts" / "a.txt").write_text("what he reads")
    with crash.restart() as host:
        done = ended(host, crash.job)

    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "input_changed"
    assert "`slice`" in done.envelope.error.message


def test_a_block_that_asks_for_something_else_is_noticed(crash: Crash) -> None:
    def other(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "open", "path": "texts/b.txt"}

    script: Script = other
    with scripted_host(crash.folder, {"block": script}, more=MORE, state=crash.state) as host:
        done = ended(host, crash.job)

    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "input_changed"
    assert "block" in done.envelope.error.message


def test_a_job_that_dies_with_its_host_too_often_is_given_up(crash: Crash) -> None:
    with crash.restart(attempts_max=1) as host:
        done = host.jobs.get(crash.job.key)

    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "internal"
    assert "attempts_max" in done.envelope.error.message


def test_a_cancel_that_was_asked_for_before_the_crash_is_not_forgotten(
    folder: Path, tmp_path: Path
) -> None:
    with scripted_host(folder, {"spin": spin}, jobs_running_max=1, state=tmp_path / "a") as host:
        job = host.jobs.submit(Submission("spin", 1))
        until(host, job, lambda one: one.progress == "spinning")
        host.jobs._stores.jobs.request_cancel(job.key)
        copy_state(tmp_path / "a", tmp_path / "b")
        host.jobs.cancel(job.key)
    with scripted_host(folder, {"spin": spin}, state=tmp_path / "b") as host:
        assert isinstance(ended(host, job).envelope, Cancelled)


def queued_and_running(host: Host) -> tuple[Job, Job]:
    running = host.jobs.submit(Submission("spin", 1))
    until(host, running, lambda one: one.progress == "spinning")
    return running, host.jobs.submit(Submission("spin", 2))


def test_a_stop_leaves_jobs_for_the_next_start(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with scripted_host(
        folder, {"spin": spin}, jobs_running_max=1, grace_s=0.01, state=state
    ) as host:
        running, queued = queued_and_running(host)

    def finish(_guest: ScriptedGuest, value: Json) -> Commands:
        yield {"cmd": "emit", "progress": "spinning"}
        yield {"cmd": "done", "result": value}

    with scripted_host(folder, {"spin": finish}, state=state) as host:
        first, second = ended(host, running), ended(host, queued)

    assert (first.status, second.status) == (JobStatus.COMPLETED, JobStatus.COMPLETED)
    assert (first.attempt, first.crashes, second.attempt) == (2, 0, 1)


def test_a_final_job_is_there_after_a_restart(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"

    with scripted_host(folder, {"echo": echo}, state=state) as host:
        done = ended(host, host.jobs.submit(Submission("echo", 2**70)))
    with scripted_host(folder, {"echo": echo}, state=state) as host:
        assert host.jobs.get(done.key) == done


def test_a_state_folder_serves_one_host(folder: Path, tmp_path: Path) -> None:
    with (
        scripted_host(folder, {"spin": spin}, state=tmp_path / "state"),
        pytest.raises(OperatorError, match="another host uses the state folder"),
        scripted_host(folder, {"spin": spin}, state=tmp_path / "state"),
    ):
        pytest.fail("a second host opened the folder")


def test_a_damaged_store_is_kept_and_refused(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "state" / "jobs.sqlite"
    file.parent.mkdir()
    file.write_bytes(b"no database" * 1000)

    with (
        pytest.raises(OperatorError, match=r"jobs\.sqlite cannot be used: .*nothing was changed"),
        scripted_host(folder, {"spin": spin}, state=tmp_path / "state"),
    ):
        pytest.fail("a damaged store was opened")
    assert file.read_bytes() == b"no database" * 1000


def test_a_job_that_waits_too_long_expires(folder: Path, tmp_path: Path) -> None:
    with scripted_host(folder, {"spin": spin}, jobs_running_max=1, state=tmp_path / "s") as host:
        queued_and_running(host)
        job = host.jobs.submit(Submission("spin", 3, expires_in_s=1))
        done = ended(host, job)

    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "timeout"
    assert "expires_in_s" in done.envelope.error.message
    assert done.started_at is None
