"""A real host process that is told to stop: what its clients see, and what the next one does."""

import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from cli.terminals import BOUND_S, started
from cuttlebone.client import Client, JobResource, StreamEvent
from cuttlebone_abi import JobStatus

pytestmark = pytest.mark.e2e

WORD = {"word": "a"}
GRACE_S = 0.3


class Place:
    """One port and one state folder, for host processes one after the other."""

    def __init__(self, specs: Path, state: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{port}"
        self._arguments = (
            "serve", "--json", "--port", port, "--specs", str(specs), "--state", str(state),
            "--grace-s", str(GRACE_S),
        )  # fmt: skip

    @contextmanager
    def host(self) -> Iterator[Client]:
        """Run a host; at the end it is told to stop, and has to end by itself with status 0."""
        with started(*self._arguments) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["url"] == self.url
            with Client(self.url) as client:
                yield client
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND_S) == 0


@pytest.fixture
def place(specs: Path, tmp_path: Path) -> Place:
    return Place(specs, tmp_path / "state")


def until_running(client: Client, job_id: str, *, attempt: int) -> None:
    for event in client.events(job_id):
        if event.data == {"status": "running", "attempt": attempt}:
            return


def waited(url: str, job_id: str) -> JobResource:
    with Client(url) as client:
        return client.wait(job_id)


def followed(url: str, job_id: str) -> list[StreamEvent]:
    with Client(url) as client:
        return list(client.events(job_id))


def test_a_stream_is_told_and_its_job_goes_on_at_the_next_start(place: Place) -> None:
    with httpx.Client(timeout=BOUND_S) as http, ExitStack() as stack:
        with place.host() as client:
            job = client.submit("spin", WORD)
            path = f"{place.url}/v1/jobs/{job.id}/events"
            lines = stack.enter_context(http.stream("GET", path)).iter_lines()
            assert any("spinning" in line for line in lines)
        # What came after the signal is still to be read.
        assert ": the host is stopping" in list(lines)
    with place.host() as client:
        until_running(client, job.id, attempt=2)
        assert client.job(job.id).progress == "spinning"
        client.cancel(job.id)
        assert client.wait(job.id).status is JobStatus.CANCELLED


def test_whoever_waits_or_follows_is_served_on_by_the_next_host(place: Place) -> None:
    with ThreadPoolExecutor(2) as pool:
        with place.host() as client:
            job = client.submit("spin", WORD)
            until_running(client, job.id, attempt=1)
            waiting = pool.submit(waited, place.url, job.id)
            following = pool.submit(followed, place.url, job.id)
        with place.host() as client:
            until_running(client, job.id, attempt=2)
            client.cancel(job.id)
            assert waiting.result(BOUND_S).status is JobStatus.CANCELLED
            events = following.result(BOUND_S)
    numbered = [event.number for event in events if event.number is not None]
    assert numbered == list(range(1, len(numbered) + 1))
    assert events[-1].kind == "result"
