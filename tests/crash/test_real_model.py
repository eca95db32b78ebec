"""The real host, block and model, killed in the middle of a job: what was generated is not paid again."""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bounds import scaled
from crash.lives import free_port
from crash.load import all_events
from cuttlebone.client import Client, StreamEvent
from cuttlebone.job.journal import GENERATING
from cuttlebone.job.recorded_job import RecordedJob
from cuttlebone.store.sqlite import recorded_in
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone_abi import Completed, InferManyDone, InferResult, decode_event

pytestmark = [pytest.mark.e2e, pytest.mark.model, pytest.mark.timeout(scaled(900))]

EXAMPLES = Path(__file__).parents[2] / "guest-examples"
START_S_MAX = scaled(120)
PART_S_MAX = scaled(300)
LOOK_S = 0.02
INPUT = {"path": "texts/tide-mill.txt", "window": 512}


class Host:
    """`cuttlebone serve` with a state folder, on the same port in each life."""

    def __init__(self, folder: Path) -> None:
        """Serve `summarize`, in C, and `side-by-side`, in Rust, which asks for eight at once."""
        self.state = folder / "state"
        self._specs = folder / "specs"
        shutil.copytree(EXAMPLES / "c" / "summarize", self._specs)
        shutil.copy(EXAMPLES / "rust" / "summarize" / "summarize.wasm", self._specs / "rust.wasm")
        spec = (EXAMPLES / "rust" / "summarize" / "summarize.yaml").read_text()
        for stated, here in (
            ("name: summarize", "name: side-by-side"),
            ("summarize.wasm", "rust.wasm"),
        ):
            spec = spec.replace(stated, here)
        (self._specs / "side-by-side.yaml").write_text(spec)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "cuttlebone", "serve", "--json"),
                *("--specs", self._specs, "--state", self.state, "--port", str(self._port)),
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

    def parts(self) -> int:
        """How many generations are kept whose `infer_many` has not ended."""
        with closing(connect(self.state / FILE_NAME, read_only=True)) as connection:
            return int(connection.execute("select count(*) from journal_parts").fetchone()[0])

    def finished(self) -> int:
        """How many generations this life has seen to their ends."""
        families = text_string_to_metric_families(httpx.get(f"{self.url}/metrics").text)
        samples = (sample for family in families for sample in family.samples)
        return int(
            sum(one.value for one in samples if one.name == "cuttlebone_infer_finished_total")
        )


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
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
    watcher.second_window.wait(scaled(300))
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


def test_of_generations_side_by_side_those_that_ended_before_the_kill_are_not_made_again(
    host: Host,
) -> None:
    host.start()
    with Client(host.url) as client:
        job_id = client.submit("side-by-side", INPUT).id
        wait_for_a_part(host)
        host.end(signal.SIGKILL)
        kept, before = host.parts(), generations(recorded_in(host.state, job_id))
        host.start()
        client.wait(job_id)
        finished = host.finished()
    host.end(signal.SIGTERM)
    after = recorded_in(host.state, job_id)

    assert before == []
    assert kept >= 1
    assert isinstance(after.envelope, Completed), after.envelope
    assert finished == len(generations(after)) - kept
    assert after.envelope.usage.tokens_out == sum(one.tokens_out for one in generations(after))
    assert after.envelope.usage.tokens_in == sum(one.tokens_in for one in generations(after))
    assert host.parts() == 0


def wait_for_a_part(host: Host) -> None:
    """Look until one generation of several is kept; nobody is told of it."""
    deadline_s = time.monotonic() + PART_S_MAX
    while host.parts() == 0:
        assert time.monotonic() < deadline_s, "no generation was kept by itself"
        time.sleep(LOOK_S)


def generations(recorded: RecordedJob) -> list[InferResult]:
    """What all generations of a job came to."""
    events = [
        decode_event(step.event_json.encode())
        for step in recorded.steps
        if step.command in GENERATING and step.event_json is not None
    ]
    found: list[InferResult] = []
    for event in events:
        answers = event.results if isinstance(event, InferManyDone) else (event,)
        found.extend(one for one in answers if isinstance(one, InferResult))
    return found


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
        self._thread.join(scaled(600))
        assert not self._thread.is_alive(), "the job did not end"
        return self._events

    def _run(self, url: str, job_id: str) -> None:
        with Client(url) as client:
            for event in all_events(client, job_id):
                self._events.append(event)
                if isinstance(event.data, dict) and event.data.get("window") == 2:
                    self.second_window.set()
