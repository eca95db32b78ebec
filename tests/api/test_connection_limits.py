"""Connections as sockets: how many there may be, and how long an idle one stays."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from api.bounded import answered, bounded, open_connections, scrape, until_open
from api.hosted import BOUND_S, Api, served
from api.raw import connected, rest
from cuttlebone.api import HttpServer, create_app, listen_unix
from cuttlebone.api.connection_limits import (
    ConnectionLimits,
    connections_possible,
    raise_open_files,
)

CONNECTIONS = 3


# --- how many -----------------------------------------------------------------------------------


@pytest.fixture
def full(tmp_path: Path) -> Iterator[tuple[Api, list[socket.socket]]]:
    """A host whose connections are all taken, and these."""
    with (
        bounded(
            tmp_path, ConnectionLimits(connections=CONNECTIONS, keep_alive_s=60, head_s=BOUND_S)
        ) as api,
        ExitStack() as stack,
    ):
        taken = [stack.enter_context(connected(api)) for _ in range(CONNECTIONS)]
        for client in taken:
            assert answered(client).startswith(b"HTTP/1.1 200 ")
        yield api, taken


def test_a_connection_beyond_the_limit_is_refused_in_words_and_closed(
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


def test_a_slot_that_is_released_is_free_for_the_next(
    full: tuple[Api, list[socket.socket]],
) -> None:
    api, taken = full
    taken[0].close()
    until_open(api, CONNECTIONS - 1)

    with connected(api) as next_one:
        assert answered(next_one).startswith(b"HTTP/1.1 200 ")


def test_open_and_refused_connections_are_counted(full: tuple[Api, list[socket.socket]]) -> None:
    api, _ = full
    with connected(api) as one_more:
        rest(one_more)

    assert open_connections(api) == CONNECTIONS
    assert "\ncuttlebone_http_connections_refused_total 1.0\n" in scrape(api)


def test_what_comes_beyond_those_that_are_refused_in_words_is_cut(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(connections=1, refusals=1, linger_s=BOUND_S)) as api,
        connected(api) as first,
    ):
        assert answered(first).startswith(b"HTTP/1.1 200 ")
        with connected(api) as refused, connected(api) as cut:
            assert rest(refused).startswith(b"HTTP/1.1 503 ")
            assert rest(cut) == b""


def test_one_that_was_refused_and_stays_is_cut_soon(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(connections=1, refusals=1, linger_s=0.1)) as api,
        connected(api) as first,
        connected(api) as refused,
    ):
        assert answered(first).startswith(b"HTTP/1.1 200 ")
        assert rest(refused).startswith(b"HTTP/1.1 503 ")
        deadline = time.monotonic() + BOUND_S
        while True:
            assert time.monotonic() < deadline, "nobody else was ever refused in words"
            with connected(api) as another:  # its turn comes when the first one was cut
                if rest(another).startswith(b"HTTP/1.1 503 "):
                    break


def test_the_limit_holds_on_a_unix_socket(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    path = tmp_path / "socket"
    with served(tmp_path / "specs") as api, listen_unix(path) as listener:
        app = create_app(api.host, version="0", limits=ConnectionLimits(connections=1))
        with (
            HttpServer(app, listener, grace_s=1),
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


# --- idle connections ---------------------------------------------------------------------------


def test_an_idle_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    with (
        bounded(tmp_path, ConnectionLimits(keep_alive_s=1, head_s=BOUND_S)) as api,
        connected(api) as client,
    ):
        assert answered(client).startswith(b"HTTP/1.1 200 ")
        assert answered(client).startswith(b"HTTP/1.1 200 ")

        assert rest(client) == b""


def test_the_time_of_an_idle_connection_is_what_is_documented() -> None:
    assert ConnectionLimits().keep_alive_s == 5
