"""Clients that send their bodies or read their answers slowly, or not at all."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog

from api.bounded import BODY, HEAD, LARGE, bounded, scrape, talk, until_open
from api.hosted import BOUND_S, SCRIPTS, Api, served
from api.raw import connected, rest
from cuttlebone.api import HttpServer, create_app, listen
from cuttlebone.api.app_state import state_of
from cuttlebone.api.connection_limits import (
    BYTES_PER_S_MIN,
    ConnectionLimits,
    TransferLimits,
)
from cuttlebone_abi import Json

# --- how slowly a body may come -----------------------------------------------------------------


def announced(length: int) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % length


def test_a_body_that_stands_still_is_not_waited_for(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(transfer=TransferLimits(stall_s=0.2))) as api,
        connected(api) as client,
    ):
        client.sendall(announced(len(BODY)) + BODY[:10])
        answer = rest(client)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert b'"code":"body_timeout"' in body
    assert b"after 10 bytes of the body" in body
    assert b"`stall_timeout_s`" in body


def test_a_body_that_never_begins_is_not_waited_for(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(transfer=TransferLimits(stall_s=0.2))) as api,
        connected(api) as client,
    ):
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")

        assert rest(client).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_trickles_in_is_not_waited_for(tmp_path: Path) -> None:
    transfer = TransferLimits(stall_s=0.5, bytes_per_s=1_000)
    with bounded(tmp_path, ConnectionLimits(transfer=transfer)) as api, connected(api) as client:
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
    transfer = TransferLimits(stall_s=BOUND_S, bytes_per_s=10)
    with bounded(tmp_path, ConnectionLimits(transfer=transfer)) as api, connected(api) as client:
        client.sendall(announced(len(BODY)))
        for byte in BODY:
            client.sendall(bytes([byte]))
            api.http.get("/healthz")  # so that each comes by itself

        assert client.recv(12) == b"HTTP/1.1 202"


def test_an_upload_that_stands_still_leaves_nothing(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    limits = ConnectionLimits(transfer=TransferLimits(stall_s=0.2))
    with served(specs, state=tmp_path, limits=limits) as api, connected(api) as client:
        client.sendall(
            f"PUT /v1/blocks/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/wasm\r\nContent-Length: 100\r\n\r\nhalf".encode()
        )
        answer = rest(client)

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert list((tmp_path / "blocks").iterdir()) == []


def test_a_body_that_nobody_wants_does_not_keep_a_connection(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(head_s=0.2, keep_alive_s=0)) as api,
        connected(api) as client,
    ):
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")

        assert rest(client).startswith(b"HTTP/1.1 200 ")


def test_the_limits_of_a_transfer_are_what_is_documented() -> None:
    assert ConnectionLimits().transfer == TransferLimits(stall_s=30, bytes_per_s=BYTES_PER_S_MIN)
    assert BYTES_PER_S_MIN == 4096


# --- clients that do not read -------------------------------------------------------------------


@contextmanager
def narrow(folder: Path, limits: ConnectionLimits) -> Iterator[Api]:
    """Serve a host on connections of which the kernel holds as little as it can."""
    with served(folder, {**SCRIPTS, "talk": talk}, body_bytes_max=1 << 20) as wide:
        app = create_app(wide.host, version="0", limits=limits)
        with listen("127.0.0.1", 0) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            server = HttpServer(app, listener, grace_s=1)
            with server:
                yield Api(wide.host, server, state_of(app).subscribers, wide.http)


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
        narrow(
            tmp_path,
            ConnectionLimits(transfer=TransferLimits(stall_s=0.2), keep_alive_s=60, head_s=60),
        ) as api,
        asked(api, job_path(api, "echo", LARGE), last) as client,
    ):
        until_open(api, 1)
        until_open(api, 0)

        assert not rest(client).endswith(b"}")


def test_the_end_of_an_answer_is_not_waited_for_either(tmp_path: Path) -> None:
    """What is left then is less than the server would have stopped writing for."""
    with (
        narrow(
            tmp_path,
            ConnectionLimits(transfer=TransferLimits(stall_s=0.2), keep_alive_s=0, head_s=0.2),
        ) as api,
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
        narrow(tmp_path, ConnectionLimits(transfer=TransferLimits(stall_s=0.2))) as api,
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
    transfer = TransferLimits(stall_s=0.3, bytes_per_s=1)
    with (
        narrow(tmp_path, ConnectionLimits(transfer=transfer, head_s=0.05, keep_alive_s=0)) as api,
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
