"""Connections as sockets: how many there may be, and how slow a client may send and read."""

import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import structlog

from api.hosted import BOUND_S, SCRIPTS, Api, served
from api.raw import GET, connected, rest
from cuttlebone.api import HttpServer, create_app, listen, listen_unix
from cuttlebone.api.bounds import (
    BYTES_PER_S_MIN,
    Bounds,
    Pace,
    connections_possible,
    raise_open_files,
)
from cuttlebone.api.dependencies import subscribers_of
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json

HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"spec": "echo", "input": 1}'
PLACES = 3
LARGE = "x" * (900 << 10)


@contextmanager
def bounded(folder: Path, **bounds: object) -> Iterator[Api]:
    stated = Bounds(**bounds)  # type: ignore[arg-type]  # named by each test
    with served(folder, {**SCRIPTS, "talk": talk}, bounds=stated, body_bytes_max=1 << 20) as api:
        yield api


def talk(_guest: ScriptedGuest, value: Json) -> Commands:
    """Emit more than the kernel holds of a connection, then end."""
    for number in range(value):
        yield {"cmd": "emit", "progress": {"number": number, "text": LARGE[: 300 << 10]}}
    yield {"cmd": "done", "result": "said"}


def answered(client: socket.socket) -> bytes:
    """Ask on a connection that stays open; return the answer."""
    client.sendall(GET + b"\r\n")
    return client.recv(65536)


def open_connections(api: Api) -> float:
    found = re.search(r"^cuttlebone_http_connections (\S+)$", scrape(api), re.MULTILINE)
    assert found is not None
    return float(found[1])


def scrape(api: Api) -> str:
    return api.host.service.metrics.exposition().decode()


def until_open(api: Api, count: int) -> None:
    """Wait until the host counts `count` open connections."""
    deadline = time.monotonic() + BOUND_S
    while open_connections(api) != count:
        assert time.monotonic() < deadline, f"{open_connections(api)} connections stay open"


# --- how many -----------------------------------------------------------------------------------


@pytest.fixture
def full(tmp_path: Path) -> Iterator[tuple[Api, list[socket.socket]]]:
    """A host whose connections are all taken, and these."""
    with (
        bounded(tmp_path, connections=PLACES, keep_alive_s=60, head_s=BOUND_S) as api,
        ExitStack() as stack,
    ):
        taken = [stack.enter_context(connected(api)) for _ in range(PLACES)]
        for client in taken:
            assert answered(client).startswith(b"HTTP/1.1 200 ")
        yield api, taken


def test_a_connection_beyond_the_bound_is_told_so_and_closed(
    full: tuple[Api, list[socket.socket]],
) -> None:
    api, _ = full
    with connected(api) as one_more:
        answer = rest(one_more)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"retry-after: 5" in head
    assert b"connection: close" in head
    assert b'"code":"too_many_connections"' in body
    assert b"3 connections are open already (`connections_max`)" in body


def test_a_client_that_has_sent_its_request_gets_that_answer_too(
    full: tuple[Api, list[socket.socket]],
) -> None:
    api, _ = full
    answer = httpx.post(f"{api.server.url}/v1/jobs", content=b"x" * 100_000, timeout=BOUND_S)

    assert (answer.status_code, answer.json()["code"]) == (503, "too_many_connections")
    assert answer.headers["Retry-After"] == "5"


def test_those_that_are_there_are_served_all_the_while(
    full: tuple[Api, list[socket.socket]],
) -> None:
    api, taken = full
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connected(api))
        answers = [answered(client) for client in taken for _ in range(3)]

    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)


def test_a_place_that_is_given_back_is_free_for_the_next(
    full: tuple[Api, list[socket.socket]],
) -> None:
    api, taken = full
    taken[0].close()
    until_open(api, PLACES - 1)

    with connected(api) as next_one:
        assert answered(next_one).startswith(b"HTTP/1.1 200 ")


def test_open_and_refused_connections_are_counted(full: tuple[Api, list[socket.socket]]) -> None:
    api, _ = full
    with connected(api) as one_more:
        rest(one_more)

    assert open_connections(api) == PLACES
    assert "\ncuttlebone_http_connections_refused_total 1.0\n" in scrape(api)


def test_what_comes_beyond_those_that_are_told_is_cut(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, connections=1, turned_away=1, linger_s=BOUND_S) as api,
        connected(api) as first,
    ):
        assert answered(first).startswith(b"HTTP/1.1 200 ")
        with connected(api) as told, connected(api) as cut:
            assert rest(told).startswith(b"HTTP/1.1 503 ")
            assert rest(cut) == b""


def test_one_that_was_told_and_stays_is_cut_soon(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, connections=1, turned_away=1, linger_s=0.1) as api,
        connected(api) as first,
        connected(api) as told,
    ):
        assert answered(first).startswith(b"HTTP/1.1 200 ")
        assert rest(told).startswith(b"HTTP/1.1 503 ")
        deadline = time.monotonic() + BOUND_S
        while True:
            assert time.monotonic() < deadline, "nobody else was ever told"
            with connected(api) as another:  # its turn comes when the first one was cut
                if rest(another).startswith(b"HTTP/1.1 503 "):
                    break


def test_the_bound_holds_on_a_unix_socket(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    path = tmp_path / "socket"
    with served(tmp_path / "specs") as api, listen_unix(path) as listener:
        app = create_app(api.host.service, version="0", body_bytes_max=1)
        with (
            HttpServer(app, listener, grace_s=1, bounds=Bounds(connections=1)),
            ExitStack() as all_,
        ):
            clients = [all_.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
            for client in clients:
                client.settimeout(BOUND_S)
                client.connect(str(path))
            assert answered(clients[0]).startswith(b"HTTP/1.1 200 ")
            assert rest(clients[1]).startswith(b"HTTP/1.1 503 ")


def test_connections_leave_half_of_the_open_files_to_everything_else() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert connections_possible(10) == 10
    assert connections_possible(most) == most // 2


def test_a_host_may_open_as_many_files_as_it_is_let() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


# --- how slowly a body may come -----------------------------------------------------------------


def announced(length: int) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % length


def test_a_body_that_stands_still_is_not_waited_for(tmp_path: Path) -> None:
    with bounded(tmp_path, pace=Pace(stall_s=0.2)) as api, connected(api) as client:
        client.sendall(announced(len(BODY)) + BODY[:10])
        answer = rest(client)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert b'"code":"body_timeout"' in body
    assert b"after 10 bytes of the body" in body
    assert b"`stall_timeout_s`" in body


def test_a_body_that_never_begins_is_not_waited_for(tmp_path: Path) -> None:
    with bounded(tmp_path, pace=Pace(stall_s=0.2)) as api, connected(api) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")

        assert rest(client).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_trickles_in_is_not_waited_for(tmp_path: Path) -> None:
    pace = Pace(stall_s=0.5, bytes_per_s=1_000)
    with bounded(tmp_path, pace=pace) as api, connected(api) as client:
        client.sendall(announced(100_000))
        client.settimeout(0.05)  # twenty bytes a second, and never half a second without one
        answer = b""
        for _ in range(int(BOUND_S / 0.05)):
            client.sendall(b" ")
            try:
                answer = client.recv(65536)
                break
            except TimeoutError:
                continue

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_comes_slowly_but_steadily_is_taken(tmp_path: Path) -> None:
    pace = Pace(stall_s=BOUND_S, bytes_per_s=10)
    with bounded(tmp_path, pace=pace) as api, connected(api) as client:
        client.sendall(announced(len(BODY)))
        for byte in BODY:
            client.sendall(bytes([byte]))
            api.http.get("/healthz")  # so that each comes by itself

        assert client.recv(12) == b"HTTP/1.1 202"


def test_an_upload_that_stands_still_leaves_nothing(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    bounds = Bounds(pace=Pace(stall_s=0.2))
    with served(specs, state=tmp_path, bounds=bounds) as api, connected(api) as client:
        client.sendall(
            f"PUT /v1/blocks/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/wasm\r\nContent-Length: 100\r\n\r\nhalf".encode()
        )
        answer = rest(client)

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert list((tmp_path / "blocks").iterdir()) == []


def test_a_body_that_nobody_wants_does_not_keep_a_connection(tmp_path: Path) -> None:
    with bounded(tmp_path, head_s=0.2, keep_alive_s=0) as api, connected(api) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")

        assert rest(client).startswith(b"HTTP/1.1 200 ")


def test_the_pace_is_what_is_documented() -> None:
    assert Bounds().pace == Pace(stall_s=30, bytes_per_s=BYTES_PER_S_MIN)
    assert BYTES_PER_S_MIN == 4096


# --- idle connections ---------------------------------------------------------------------------


def test_an_idle_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    with bounded(tmp_path, keep_alive_s=1, head_s=BOUND_S) as api, connected(api) as client:
        assert answered(client).startswith(b"HTTP/1.1 200 ")
        assert answered(client).startswith(b"HTTP/1.1 200 ")

        assert rest(client) == b""


def test_the_time_of_an_idle_connection_is_what_is_documented() -> None:
    assert Bounds().keep_alive_s == 5


# --- clients that do not read -------------------------------------------------------------------


@contextmanager
def narrow(folder: Path, **bounds: object) -> Iterator[Api]:
    """Serve a host on connections of which the kernel holds as little as it can."""
    stated = Bounds(**bounds)  # type: ignore[arg-type]  # named by each test
    with served(folder, {**SCRIPTS, "talk": talk}, body_bytes_max=1 << 20) as wide:
        app = create_app(wide.host.service, version="0", body_bytes_max=1 << 20)
        with listen("127.0.0.1", 0) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            server = HttpServer(app, listener, grace_s=1, bounds=stated)
            with server:
                yield Api(wide.host, server, subscribers_of(app), wide.http)


@contextmanager
def asked(api: Api, path: str, last: bytes = b"") -> Iterator[socket.socket]:
    """A connection that has asked for something, and has little room for it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(BOUND_S)
        client.connect(api.address)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode() + last + b"\r\n")
        yield client


def job_path(api: Api, spec: str, value: Json) -> str:
    """Run a job to its end, by other connections, which are closed then; return its path."""
    job = api.submit(spec, value)
    api.ended(job)
    api.http.close()
    until_open(api, 0)
    path: str = job["links"]["self"]
    return path


@pytest.mark.parametrize("last", [b"", b"Connection: close\r\n"])
def test_an_answer_that_nobody_takes_does_not_keep_a_connection(
    tmp_path: Path, last: bytes
) -> None:
    with (
        narrow(tmp_path, pace=Pace(stall_s=0.2), keep_alive_s=60, head_s=60) as api,
        asked(api, job_path(api, "echo", LARGE), last) as client,
    ):
        until_open(api, 1)
        until_open(api, 0)

        assert not rest(client).endswith(b"}")


def test_the_end_of_an_answer_is_not_waited_for_either(tmp_path: Path) -> None:
    """What is left then is less than the server would have stopped writing for."""
    with (
        narrow(tmp_path, pace=Pace(stall_s=0.2), keep_alive_s=0, head_s=0.2) as api,
        asked(api, job_path(api, "echo", "x" * 40_000)) as client,
    ):
        until_open(api, 1)
        until_open(api, 0)

        assert not rest(client).endswith(b"}")


def test_a_stream_that_nobody_reads_is_cut_and_lets_go_of_the_job(
    tmp_path: Path,
) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        narrow(tmp_path, pace=Pace(stall_s=0.2)) as api,
    ):
        with asked(api, f"{job_path(api, 'talk', 3)}/events") as client:
            until_open(api, 1)
            until_open(api, 0)
            received = rest(client)

        assert len(api.subscribers) == 0
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b"event: result" not in received
    assert [one["event"] for one in logs if one["log_level"] == "error"] == []


def test_an_answer_may_take_longer_than_the_next_head_if_the_client_reads(tmp_path: Path) -> None:
    pace = Pace(stall_s=0.3, bytes_per_s=1)
    with (
        narrow(tmp_path, pace=pace, head_s=0.05, keep_alive_s=0) as api,
        asked(api, job_path(api, "echo", LARGE)) as client,
    ):
        received = bytearray()
        ends_s = time.monotonic() + 1.0  # as slowly as it can, for many times `head_s`
        while part := client.recv(2048):
            received += part
            if time.monotonic() < ends_s:
                scrape(api)

    assert received.endswith(b"}")
    assert LARGE.encode() in received
