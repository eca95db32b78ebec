"""`cuttlebone demo`: a host process, the real model, the real block."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from cli.conftest import Terminal
from cuttlebone.cli.demo import demo_folder
from cuttlebone.cli.host_process import host_process
from cuttlebone.client import Client, Unreachable
from cuttlebone.errors import OperatorError


@pytest.mark.e2e
@pytest.mark.model
def test_the_demo_shows_how_it_goes_and_ends_with_an_envelope(terminal: Terminal) -> None:
    on_terminal = terminal("demo")
    on_terminal.read_until("→ window 1")
    ended = on_terminal.end()
    assert ended.status == 0
    assert ended.result["status"] == "completed"
    assert ended.result["result"]["summary"]
    assert ended.result["usage"]["tokens_out"] > 0
    assert ended.result["usage"]["model"] == "smollm2"


@pytest.mark.e2e
@pytest.mark.model
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_the_demo_and_its_host(
    number: signal.Signals, terminal: Terminal
) -> None:
    on_terminal = terminal("demo")
    on_terminal.read_until("● running")
    url = on_terminal.shown.split("a host answers at ")[1].split(";")[0]
    on_terminal.process.send_signal(number)
    ended = on_terminal.end()
    assert (ended.status, ended.out) == (130, "")
    with Client(url) as client, pytest.raises(Unreachable):
        client.models()


@pytest.mark.e2e
def test_the_host_of_a_command_that_is_killed_ends_as_well(specs: Path) -> None:
    script = (
        "import sys; from cuttlebone.cli.host_process import host_process\n"
        "with host_process(['--specs', sys.argv[1]]) as url: print(url, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(specs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        url = starter.stdout.readline().decode().strip()
        with Client(url) as client:
            client.models()
            stream = client.submit("spin", {"word": ""})
            events = client.events(stream.id)
            next(events)
            starter.kill()
            with pytest.raises(Unreachable):
                list(events)


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


def test_a_host_that_never_answers_and_does_nothing_is_given_up() -> None:
    program = (sys.executable, "-c", "import signal; signal.pause()")
    with (
        pytest.raises(
            OperatorError, match=r"does not start: .* no processor time; it said nothing"
        ),
        host_process([], program=program, look_s=0.1, stalled_s_max=1.0),
    ):
        pass


def test_a_host_that_does_not_heed_the_stop_signal_is_killed() -> None:
    deaf = (
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        """print('{"url": "%s"}' % os.getpid(), flush=True); signal.pause()"""
    )
    with host_process([], program=(sys.executable, "-c", deaf), end_s_max=0.2) as number:
        os.kill(int(number), 0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(number), 0)


def test_what_a_host_says_that_is_no_complaint_is_shown_as_it_is() -> None:
    program = (sys.executable, "-c", "raise SystemExit('out of luck')")
    with (
        pytest.raises(OperatorError, match=r"did not start: out of luck"),
        host_process([], program=program),
    ):
        pass


SLOW = """
import sys
sys.stderr.write("reading the specs\\n")
sys.stderr.flush()
sys.stdin = open(sys.argv[-1])  # opens once the test has been told
sys.stdin.read()
print('{"url": "http://late"}', flush=True)
"""


def test_a_start_may_take_as_long_as_it_takes_and_is_told_of(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 3:
            gate_opened.append(gate.open("w"))
            gate_opened[0].close()

    gate_opened: list[TextIO] = []
    program = (sys.executable, "-c", SLOW)
    with host_process([str(gate)], program=program, tell=tell, look_s=0.2) as url:
        assert url == "http://late"
    assert re.fullmatch(r"the host is starting, for \d+ s so far: reading the specs", told[2])


def test_the_demo_brings_its_files() -> None:
    folder = demo_folder()
    assert (folder / "summarize.wasm").is_file()
    assert (folder / "texts" / "tide-mill.txt").is_file()
