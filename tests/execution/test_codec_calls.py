"""An input is read when it is submitted and written when it is accepted, and never again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import wasmtime

from api.hosted import served
from codec_calls import codec_calls
from cuttlebone.job.job import Submission
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation
from hosts import BOUND_S, scripted_host

GUEST = Path(__file__).parents[1] / "guests" / "three_steps.wat"
MARKER = "a-word-of-this-input-alone"


@contextmanager
def emitting(emits: int, folder: Path) -> Iterator[Sandbox]:
    """A spec whose block emits so often and is done, and the sandbox to run it in."""
    text = GUEST.read_text().replace("(i32.const 2))", f"(i32.const {emits}))")
    (folder / "emits.wasm").write_bytes(bytes(wasmtime.wat2wasm(text)))
    (folder / "emits.yaml").write_text("name: emits\ndescription: Emits.\nblock: emits.wasm\n")
    with Sandbox(isolation=Isolation.THREAD) as sandbox:
        yield sandbox


@pytest.fixture(params=["memory", "sqlite"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "state" if request.param == "sqlite" else None


@pytest.mark.parametrize("emits", [3, 40])
def test_an_input_is_read_once_and_written_once_however_many_steps_its_job_has(
    folder: Path, state: Path | None, emits: int
) -> None:
    with (
        emitting(emits, folder) as sandbox,
        codec_calls(MARKER) as calls,
        served(folder, {}, sandbox=sandbox, state=state) as api,
    ):
        done = api.ended(api.submit("emits", {"text": MARKER, "numbers": [1, 2.5]}))

    assert done["accounting"]["steps"] == emits + 1
    assert (calls.marked_reads, calls.marked_writes) == (1, 1)


def reads_of_a_job(emits: int, folder: Path, state: Path | None) -> int:
    """What threads of the host read while a job runs that nobody looks at before its end."""
    with (
        emitting(emits, folder) as sandbox,
        codec_calls(MARKER) as calls,
        scripted_host(folder, {}, sandbox=sandbox, state=state) as host,
    ):
        ended = threading.Event()
        job = host.jobs.submit(Submission("emits", None))
        with host.jobs.watch(job.key, ended.set):
            while not host.jobs.get(job.key).status.final:
                assert ended.wait(BOUND_S)
                ended.clear()
    return calls.reads


def test_a_step_reads_its_command_and_nothing_else(folder: Path, state: Path | None) -> None:
    few, many = (reads_of_a_job(emits, folder, state) for emits in (3, 40))

    assert many - few == 37
