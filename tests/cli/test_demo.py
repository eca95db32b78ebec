"""`cuttlebone demo`: a host process, the real model, the real block."""

import signal
from pathlib import Path

import pytest

from cli.terminals import OnTerminal
from cuttlebone.cli.demo import demo_folder
from cuttlebone.cli.host_process import host_process
from cuttlebone.client import Client, Unreachable
from cuttlebone.errors import OperatorError


@pytest.mark.e2e
@pytest.mark.model
def test_the_demo_shows_how_it_goes_and_ends_with_an_envelope() -> None:
    on_terminal = OnTerminal("demo")
    on_terminal.read_until("→ window 1")
    ended = on_terminal.end()
    assert ended.status == 0
    assert ended.result["status"] == "completed"
    assert ended.result["result"]["summary"]
    assert ended.result["usage"]["tokens_out"] > 0
    assert ended.result["usage"]["model"] == "smollm2"


@pytest.mark.e2e
def test_ctrl_c_ends_the_demo_and_its_host() -> None:
    on_terminal = OnTerminal("demo")
    on_terminal.read_until("● running")
    url = on_terminal.shown.split("a host answers at ")[1].split(";")[0]
    on_terminal.process.send_signal(signal.SIGINT)
    ended = on_terminal.end()
    assert (ended.status, ended.out) == (130, "")
    with Client(url) as client, pytest.raises(Unreachable):
        client.models()


@pytest.mark.e2e
def test_a_host_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(OperatorError, match=r"did not start: the specs folder .* cannot be read"),
        host_process(["--specs", str(tmp_path / "none")]),
    ):
        pass


@pytest.mark.e2e
def test_a_host_process_ends_with_its_block(specs: Path) -> None:
    with host_process(["--specs", str(specs)]) as url, Client(url) as client:
        assert len(client.specs().specs) == 3
    with Client(url) as client, pytest.raises(Unreachable):
        client.models()


def test_the_demo_brings_its_files() -> None:
    folder = demo_folder()
    assert (folder / "summarize.wasm").is_file()
    assert (folder / "texts" / "tide-mill.txt").is_file()
