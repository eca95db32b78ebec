"""A job runs what it was accepted for, in this host and in the next one, or says what is gone."""

import hashlib
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from cuttlebone.errors import JobError
from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.job.job import Job, Submission
from cuttlebone.job_options import Limits
from cuttlebone.service.host import Host
from cuttlebone.specs.catalog import Catalog, spec_files_in
from cuttlebone.specs.loading import LoadedSpec, load_document
from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.testing import Commands, Script, ScriptedGuest, ScriptedSandbox
from cuttlebone_abi import Completed, Failed, Json
from execution.scripts import spin
from guest_scripts import echo
from hosts import ended, scripted_host, until, write_spec
from store.stores import claimed, finish, insert, job

NUMBERS_ONLY = "input: {type: number}"
TEXT = "what it may read"


def other(_guest: ScriptedGuest, _value: Json) -> Commands:
    yield {"cmd": "done", "result": "from another block"}


def reads(_guest: ScriptedGuest, _value: Json) -> Commands:
    opened = yield {"cmd": "open", "path": "texts/a.txt"}
    read = yield {"cmd": "slice", "handle": opened["handle"], "offset": 0, "len": 99}
    yield {"cmd": "done", "result": read["text"]}


def at_once(_guest: ScriptedGuest, _value: Json) -> Commands:
    yield {"cmd": "done", "result": None}


SCRIPTS: dict[str, Script] = {"spin": spin, "echo": echo, "other": other, "reads": reads}
LATER: dict[str, Script] = {**SCRIPTS, "spin": at_once}
"""Those of the next host, in which the job that kept the others waiting comes to its end."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of specs: one whose job makes others wait, and `echo`."""
    specs = tmp_path / "specs"
    (specs / "texts").mkdir(parents=True)
    (specs / "texts" / "a.txt").write_text(TEXT)
    write_spec(specs, "spin")
    write_spec(specs, "echo")
    return specs


def host_over(
    folder: Path, state: Path | None, scripts: dict[str, Script] = SCRIPTS
) -> AbstractContextManager[Host]:
    """A host that runs one job at a time and serves what is in the folder, as it is."""
    sandbox = ScriptedSandbox(scripts)
    return scripted_host(folder, {}, sandbox=sandbox, state=state, jobs_running_max=1, grace_s=0.01)


def waiting(host: Host, value: Json = "a text", spec: str = "echo") -> tuple[Job, Job]:
    """Submit a job that has to wait for another one; return that one too."""
    before = host.jobs.submit(Submission("spin", None))
    until(host, before, lambda one: one.progress == "spinning")
    return before, host.jobs.submit(Submission(spec, value))


def reason(done: Job) -> str:
    assert isinstance(done.envelope, Failed)
    assert done.envelope.error.code == "input_changed"
    return done.envelope.error.message


def result(done: Job) -> Json:
    assert isinstance(done.envelope, Completed), done.envelope
    return done.envelope.result


@pytest.fixture(params=["memory", "sqlite"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "state" if request.param == "sqlite" else None


def test_a_job_runs_the_block_that_it_was_accepted_for(folder: Path, state: Path | None) -> None:
    with host_over(folder, state) as host:
        before, queued = waiting(host)
        (folder / "echo.wasm").write_text("other")
        write_spec(folder, "echo", NUMBERS_ONLY)
        (folder / "echo.wasm").write_text("other")
        new = host.jobs.submit(Submission("echo", 1))
        host.jobs.cancel(before.key)

        assert result(ended(host, queued)) == "a text"
        assert result(ended(host, new)) == "from another block"
    assert queued.block_sha256 == hashlib.sha256(b"echo").hexdigest()
    assert new.block_sha256 == hashlib.sha256(b"other").hexdigest()
    assert queued.spec_sha256 != new.spec_sha256


def test_a_job_whose_spec_vanishes_runs_all_the_same(folder: Path, state: Path | None) -> None:
    with host_over(folder, state) as host:
        before, queued = waiting(host)
        (folder / "echo.yaml").unlink()
        (folder / "echo.wasm").unlink()
        assert [one.name for one in host.specs.specs()] == ["spin"]
        host.jobs.cancel(before.key)

        assert result(ended(host, queued)) == "a text"


class Restart:
    """A host that stopped while a job waited, and how to start the next one."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.state = state

    def stopped_with(self, spec: str) -> Job:
        with host_over(self.folder, self.state) as host:
            return waiting(host, spec=spec)[1]

    def end(self, queued: Job) -> Job:
        with host_over(self.folder, self.state, LATER) as host:
            return ended(host, queued)


@pytest.fixture
def restart(folder: Path, tmp_path: Path) -> Restart:
    return Restart(folder, tmp_path / "state")


def test_a_spec_that_changed_while_the_host_was_down_does_not_change_its_jobs(
    restart: Restart,
) -> None:
    queued = restart.stopped_with("echo")
    write_spec(restart.folder, "echo", NUMBERS_ONLY)

    assert result(restart.end(queued)) == "a text"


def test_a_spec_that_vanished_while_the_host_was_down_is_still_known(restart: Restart) -> None:
    queued = restart.stopped_with("echo")
    (restart.folder / "echo.yaml").unlink()

    assert result(restart.end(queued)) == "a text"


def test_what_was_granted_is_granted_still_from_the_folder_of_the_spec(restart: Restart) -> None:
    write_spec(restart.folder, "reads", "capabilities: {read: [./texts]}")
    queued = restart.stopped_with("reads")
    write_spec(restart.folder, "reads")

    assert result(restart.end(queued)) == TEXT


def test_an_uploaded_block_serves_the_jobs_that_were_accepted_for_it(restart: Restart) -> None:
    digest = hashlib.sha256(b"echo").hexdigest()
    (restart.state / "blocks").mkdir(parents=True)
    (restart.state / "blocks" / f"{digest}.wasm").write_text("echo")
    by_digest = "name: echo\ndescription: Echoes.\nblock: sha256:{}\n"
    (restart.folder / "echo.yaml").write_text(by_digest.format(digest))
    queued = restart.stopped_with("echo")
    write_spec(restart.folder, "echo")
    (restart.folder / "echo.wasm").write_text("other")

    assert result(restart.end(queued)) == "a text"


@pytest.mark.parametrize("gone", [True, False])
def test_a_block_that_changed_while_the_host_was_down_is_named(
    restart: Restart, *, gone: bool
) -> None:
    queued = restart.stopped_with("echo")
    (restart.folder / "echo.wasm").write_text("other")
    if gone:
        (restart.folder / "echo.wasm").unlink()
    said = reason(restart.end(queued))

    assert "its block `echo.wasm`" in said
    assert ("is gone" if gone else hashlib.sha256(b"other").hexdigest()) in said
    assert str(restart.folder) not in said


def test_a_grant_that_is_gone_is_named(restart: Restart) -> None:
    write_spec(restart.folder, "reads", "capabilities: {read: [./texts]}")
    queued = restart.stopped_with("reads")
    (restart.folder / "texts").rename(restart.folder / "moved")
    write_spec(restart.folder, "reads")

    assert "`capabilities.read`" in reason(restart.end(queued))


def kept_by_an_older_host(state: Path) -> Job:
    """Put a job into the queue that does not say what it was accepted for."""
    stores = open_sqlite_stores(state)
    queued = replace(job("a"), input=b'"a text"')
    stores.jobs.insert(queued, waiting_max=9).result()
    stores.close()
    return queued


def test_a_job_of_an_older_host_runs_what_its_spec_says_now(restart: Restart) -> None:
    assert result(restart.end(kept_by_an_older_host(restart.state))) == "a text"


def test_a_job_of_an_older_host_runs_nothing_that_refuses_its_input(restart: Restart) -> None:
    write_spec(restart.folder, "echo", NUMBERS_ONLY)

    assert "number" in reason(restart.end(kept_by_an_older_host(restart.state)))


def test_a_job_of_an_older_host_whose_spec_vanished_says_so(restart: Restart) -> None:
    (restart.folder / "echo.yaml").unlink()

    assert "no spec is named 'echo'" in reason(restart.end(kept_by_an_older_host(restart.state)))


class Registry:
    """The specs that jobs in memory were accepted for, and how often one was loaded again."""

    def __init__(self, folder: Path, loaded_max: int) -> None:
        self.folder = folder
        self.loads = 0
        self.stores = open_memory_stores(kept_max=9)
        self._sandbox = ScriptedSandbox(SCRIPTS)
        self._catalog = Catalog(
            lambda: spec_files_in(folder), admit=self._sandbox.admit, limits_max=Limits()
        )
        self.specs = AcceptedSpecs(
            self._catalog, self.stores.jobs, self._load, loaded_max=loaded_max
        )

    def _load(self, document: bytes) -> LoadedSpec:
        self.loads += 1
        return load_document(document, admit=self._sandbox.admit)

    def accepted(self, name: str, steps: int) -> Job:
        """Accept a job for a spec with that limit, after which the spec is gone."""
        path = write_spec(self.folder, "echo", f"limits: {{steps: {steps}}}")
        self._catalog.refresh()
        loaded = self._catalog.get("echo")
        queued = replace(job(name), spec_sha256=loaded.sha256)
        self.specs.hold(loaded)
        self.stores.jobs.insert(queued, waiting_max=9, spec_document=loaded.document).result()
        path.unlink()
        self._catalog.refresh()
        return queued


@pytest.fixture
def registry(folder: Path) -> Registry:
    return Registry(folder, loaded_max=2)


def test_jobs_of_one_spec_share_it_and_the_last_one_lets_it_go(registry: Registry) -> None:
    one, two = registry.accepted("one", 5), registry.accepted("two", 5)
    assert registry.specs.of(one) is registry.specs.of(two)

    registry.specs.release(one.spec_sha256)
    registry.specs.of(two)
    assert registry.loads == 0
    registry.specs.release(two.spec_sha256)
    registry.specs.of(two)
    assert registry.loads == 1


def test_specs_that_are_kept_open_are_bounded_and_others_loaded_again(registry: Registry) -> None:
    jobs = [registry.accepted(f"job-{steps}", steps) for steps in (5, 6, 7)]
    limits = [registry.specs.of(one).limits.steps for one in jobs]

    assert limits == [5, 6, 7]
    assert registry.loads == 3  # each took the place of the one that was asked for next


def test_a_document_that_is_not_kept_is_said_to_be_missing(registry: Registry) -> None:
    stranger = replace(job("a"), spec_sha256="f" * 64)

    with pytest.raises(JobError, match="the document of that spec is not kept") as caught:
        registry.specs.of(stranger)
    assert caught.value.code == "input_changed"


def test_jobs_that_waited_at_the_start_of_a_host_are_counted(folder: Path) -> None:
    registry = Registry(folder, loaded_max=2)
    one = registry.accepted("one", 5)
    insert(registry.stores, "no-spec")
    again = AcceptedSpecs(
        Catalog(list, admit=ScriptedSandbox({}).admit, limits_max=Limits()),
        registry.stores.jobs,
        registry._load,
    )
    first = again.of(one)
    assert again.of(one) is first

    finish(registry.stores, claimed(registry.stores).id)
    again.release(one.spec_sha256)
    assert again.of(one) is not first
