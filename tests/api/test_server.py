"""The server: a port that is free or said to be busy, signals, an end in bounded time."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from api.hosted import BOUND_S, Api, served
from cuttlebone.api import HttpServer, create_app, listen
from cuttlebone.errors import OperatorError


def test_a_busy_port_is_said_before_anything_else_starts() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OperatorError) as caught:
            listen("127.0.0.1", port)

    assert str(caught.value) == (
        f"127.0.0.1:{port} is in use by another program; "
        "stop that one, or give --port with another number (0 takes a free one)"
    )


def test_a_port_that_was_just_served_is_free_again(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.http.get("/healthz")
        port = api.address[1]

    listen("127.0.0.1", port).close()


@pytest.mark.parametrize("host", ["example.org", "", "127.1", "0127.0.0.1", "[::1]", "127.0.0.1\n"])
def test_a_host_that_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(OperatorError, match="is no address to listen on"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "::ffff:127.0.0.1"])
def test_an_address_that_others_can_reach_is_refused(host: str) -> None:
    with pytest.raises(OperatorError, match="can be reached from other machines"):
        listen(host, 0)


def test_an_address_of_another_family_is_served_by_its_url(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 on this machine")
    try:
        listener = listen("::1", 0)
    except OperatorError:
        pytest.skip("no IPv6 loopback on this machine")
    with served(tmp_path) as api:
        app = create_app(api.host, version="0")
        with HttpServer(app, listener, grace_s=1) as server:
            assert server.url.startswith("http://[::1]:")
            assert httpx.get(f"{server.url}/healthz").status_code == 200


@contextmanager
def unstarted(api: Api) -> Iterator[HttpServer]:
    app = create_app(api.host, version="0")
    with listen("127.0.0.1", 0) as listener:
        yield HttpServer(app, listener, grace_s=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_serving_and_is_not_passed_on(api: Api, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    asked: list[int] = []

    def on_listening(url: str) -> None:
        asked.append(httpx.get(f"{url}/healthz").status_code)
        os.kill(os.getpid(), number)

    with unstarted(api) as server:
        server.serve(on_listening)

    assert asked == [200]
    assert signal.getsignal(number) is before
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/healthz")


def test_a_client_can_connect_before_the_server_runs(api: Api) -> None:
    with unstarted(api) as server:
        url = httpx.URL(server.url)
        assert url.port is not None
        with socket.create_connection((url.host, url.port), timeout=BOUND_S) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with server:
                assert client.recv(12) == b"HTTP/1.1 200"


def test_a_request_still_under_way_when_the_grace_period_ends_is_refused(api: Api) -> None:
    with unstarted(api) as server, server:
        url = httpx.URL(server.url)
        assert url.port is not None
        client = socket.create_connection((url.host, url.port), timeout=BOUND_S)
        client.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 1\r\n"
            b"Expect: 100-continue\r\n\r\n"
        )
        assert b"100 Continue" in client.recv(100)  # so the handler waits for the body now
    with client:
        client.settimeout(BOUND_S)
        rest = client.makefile("rb").read()

    assert rest.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"stopping"' in rest


def test_a_stop_may_be_repeated(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.server.stop()
        api.server.stop()


def test_what_breaks_the_server_reaches_whoever_stops_it(api: Api) -> None:
    app = create_app(api.host, version="0")
    listener = listen("127.0.0.1", 0)
    server = HttpServer(app, listener, grace_s=1)
    listener.close()

    with pytest.raises(OSError, match="Bad file descriptor"), server:
        pass


def test_a_server_that_breaks_ends_serving(api: Api) -> None:
    app = create_app(api.host, version="0")
    listener = listen("127.0.0.1", 0)
    server = HttpServer(app, listener, grace_s=1)
    listener.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        server.serve(lambda _: None)
