"""`cuttlebone replay` over jobs of a real sandbox, from a state folder and from a file."""

import hashlib
import json
from pathlib import Path

import pytest

from cli.blocks import block
from cli.conftest import Cli
from cuttlebone.assembly import open_host
from cuttlebone.job.job import Submission
from cuttlebone.settings import Isolation, Settings
from cuttlebone.store.sqlite import recorded_in
from cuttlebone_abi import Json
from hosts import ended

SLICE: Json = {"cmd": "slice", "handle": 1, "offset": 0, "len": 100}
DONE: Json = {"cmd": "done", "result": "read"}
COMMANDS: list[Json] = [{"cmd": "open", "path": "a.txt"}, SLICE, DONE]
SPEC = "name: reader\ndescription: Reads.\nblock: reader.wasm\ncapabilities: {read: [a.txt]}\n"


class Recorded:
    """A folder with a spec and a state, and the id of a job that was recorded there."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder
        self.state = folder / "state"
        (folder / "a.txt").write_text("a text")
        (folder / "reader.wasm").write_bytes(block(COMMANDS))
        (folder / "reader.yaml").write_text(SPEC + more)
        settings = Settings(
            specs=folder,
            state=self.state,
            cache=folder / "cache",
            isolation=Isolation.THREAD,
        )
        with open_host(settings) as host:
            self.job = ended(host, host.jobs.submit(Submission("reader", {}))).id

    def export(self) -> Path:
        """The job as a file."""
        path = self.folder / "case.json"
        path.write_text(recorded_in(self.state, self.job).model_dump_json())
        return path

    def new_block(self, *commands: Json) -> Path:
        """Another build of the block."""
        path = self.folder / "new.wasm"
        path.write_bytes(block(commands))
        return path


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def in_full(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path, "record: full\n")


def test_the_same_block_goes_the_same_way(cli: Cli, recorded: Recorded) -> None:
    told = cli(
        "replay", recorded.job, "--state", str(recorded.state), "--specs", str(recorded.folder)
    )

    assert told.status == 0
    lines = told.out.splitlines()
    assert lines[0].split()[:2] == ["1", '{"cmd":']
    assert lines[-1] == "2 steps, the same, and the same end"
    assert "sha256:" not in told.out  # it is the block that the job ran


def test_a_new_block_is_held_to_a_file_without_spec_and_files(cli: Cli, in_full: Recorded) -> None:
    case = in_full.export()
    (in_full.folder / "reader.yaml").unlink()
    (in_full.folder / "a.txt").unlink()
    new = in_full.new_block(COMMANDS[0], {**SLICE, "len": 99}, DONE)

    told = cli("replay", str(case), "--block", str(new), "--json", "--specs", str(in_full.folder))

    assert told.status == 1
    assert told.result["end"] == "diverged"
    assert [step["step"] for step in told.result["steps"]] == [1]
    assert told.result["block_sha256"] == hashlib.sha256(new.read_bytes()).hexdigest()
    assert told.result["recorded_block_sha256"] != told.result["block_sha256"]
    found = told.result["divergence"]
    assert (found["step"], found["what"]) == (2, "command")
    assert '"len": 100' in found["recorded"]
    assert '"len": 99' in found["instead"]


def test_a_divergence_is_shown_to_a_person(cli: Cli, recorded: Recorded) -> None:
    case = recorded.export()
    (recorded.folder / "a.txt").write_text("\x1btext!")

    told = cli("replay", str(case), "--specs", str(recorded.folder))

    assert told.status == 1
    assert "diverged at step 2, in its event:" in told.out
    assert "recorded: kept as its digest sha256:" in told.out
    assert "text!" in told.out
    assert "\x1b" not in told.out


def test_a_person_is_told_that_the_block_is_another_one(cli: Cli, in_full: Recorded) -> None:
    new = in_full.new_block(*COMMANDS, DONE)

    told = cli("replay", str(in_full.export()), "--block", str(new))

    assert told.status == 0
    assert f"this one is sha256:{hashlib.sha256(new.read_bytes()).hexdigest()}" in told.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("none.json",), "there is no file"),
        (("ab" * 16, "--state", "."), "there is no jobs.sqlite"),
        (("{case}", "--specs", "none"), "give --specs DIR"),
        (("{case}", "--block", "{new}", "--specs", "none"), "not recorded in full"),
        (("no-such-job", "--state", "{state}"), "there is no job 'no-such-job'"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_status_2(
    cli: Cli, recorded: Recorded, arguments: tuple[str, ...], reason: str
) -> None:
    places = {
        "case": recorded.export(),
        "new": recorded.new_block(*COMMANDS),
        "state": recorded.state,
    }
    told = cli("replay", *(one.format(**places) for one in arguments), "--json")

    assert told.status == 2
    assert reason in told.complaint["message"]


@pytest.mark.e2e
def test_a_job_of_a_running_host_is_exported_and_replayed(
    cli: Cli, host: str, specs: Path, tmp_path: Path
) -> None:
    told = cli("submit", "complete", "-i", '{"word": "a"}', "--wait", "--url", host, "--json")
    assert told.status == 0
    listed = cli("jobs", "--url", host, "--json").result["jobs"][0]["id"]
    case = tmp_path / "case.json"

    assert cli("job", "export", listed, "--output", str(case), "--url", host).status == 0
    from_file = cli("replay", str(case), "--specs", str(specs), "--json")
    from_host = cli("replay", listed, "--url", host, "--specs", str(specs), "--json")

    assert (from_file.status, from_host.status) == (0, 0)
    assert from_file.result == from_host.result
    assert cli("job", "export", listed, "--url", host).result == json.loads(case.read_text())
