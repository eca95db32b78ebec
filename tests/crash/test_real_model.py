"""The real host, block and model, killed in the middle of a job: what was generated is not paid again."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.lives import free_port
from crash.load import all_events
from cuttlebone.client import Client, StreamEvent
from cuttlebone.jobs.recorded import RecordedJob
from cuttlebone.jobs.store_sqlite import recorded_in
from cuttlebone_abi import Completed

pytestmark = [pytest.mark.e2e, pytest.mark.model, pytest.mark.timeout(900)]

SPECS = Path(__file__).parents[2] / "guest-examples" / "c" / "summarize"
START_S_MAX = 120
INPUT = {"path": "texts/tide-mill.txt", "window": 512}


class Host:
    """`cuttlebone serve` with a state folder, on the same port in each life."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "cuttlebone", "serve", "--json"),
                *("--specs", SPECS, "--state", self.state, "--port", str(self._port)),
                *("--model", "smollm2=demo"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "it did not start"

    def end(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.send_signal(number)
        self._process.wait(START_S_MAX)
        self._process.stdout.close()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.end(signal.SIGKILL)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path / "state")
    yield made
    made.close()


def tokens_out(recorded: RecordedJob) -> int:
    return sum(step.tokens_out for step in recorded.steps)


def pieces(recorded: RecordedJob) -> list[str]:
    return [piece for step in recorded.steps for piece in step.pieces]


def test_a_killed_host_goes_on_with_a_real_job_where_it_was(host: Host) -> None:
    host.start()
    with Client(host.url) as client:
        job_id = client.submit("summarize", INPUT).id
    watcher = Watcher(host.url, job_id)
    watcher.second_window.wait(300)
    host.end(signal.SIGKILL)
    before = recorded_in(host.state, job_id)
    host.start()
    events = watcher.all_events()
    host.end(signal.SIGTERM)
    after = recorded_in(host.state, job_id)

    finished = [step for step in before.steps if step.command == "infer"]
    assert finished, "it was killed before its first generation had ended"
    assert after.steps[: len(before.steps)] == before.steps
    assert after.attempt == 2
    assert isinstance(after.envelope, Completed), after.envelope
    assert after.envelope.usage.tokens_out == tokens_out(after)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    windows = [
        event.data["window"]
        for event in events
        if event.kind == "progress" and "window" in event.data
    ]
    assert windows == list(range(1, after.envelope.result["windows"] + 1))
    assert_told_once(events, before, after)


def assert_told_once(events: list[StreamEvent], before: RecordedJob, after: RecordedJob) -> None:
    """The pieces of every generation once, and between those before and after the kill a torn one."""
    told = [event.data["text"] for event in events if event.kind == "token"]
    finished, later = pieces(before), pieces(after)[len(pieces(before)) :]
    assert told[: len(finished)] == finished
    assert told[len(told) - len(later) :] == later
    torn = told[len(finished) : len(told) - len(later)]
    assert torn == later[: len(torn)]


class Watcher:
    """Follows one job in a thread of its own, through the death of its host."""

    def __init__(self, url: str, job_id: str) -> None:
        self.second_window = threading.Event()
        self._events: list[StreamEvent] = []
        self._thread = threading.Thread(target=self._run, args=(url, job_id), daemon=True)
        self._thread.start()

    def all_events(self) -> list[StreamEvent]:
        """Those of the log, once the job has ended."""
        self._thread.join(600)
        assert not self._thread.is_alive(), "the job did not end"
        return self._events

    def _run(self, url: str, job_id: str) -> None:
        with Client(url) as client:
            for event in all_events(client, job_id):
                self._events.append(event)
                if isinstance(event.data, dict) and event.data.get("window") == 2:
                    self.second_window.set()
