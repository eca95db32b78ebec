"""Requests as bytes: what a head may be, how long it may take, and what is no request at all."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from api.hosted import Api, served
from api.raw import GET, connected, rest, sent
from cuttlebone.api.connection_limits import HEAD_S_MAX, ConnectionLimits
from cuttlebone.api.http_protocol import HEAD_BYTES_MAX, HEADERS_MAX

LAST = b"Connection: close\r\n\r\n"


def headers(count: int) -> bytes:
    return b"".join(b"X-%d: 1\r\n" % number for number in range(count))


def head_of(size: int) -> bytes:
    """A whole head of exactly `size` bytes."""
    padding = size - len(GET) - len(b"X: \r\n") - len(LAST)
    return GET + b"X: " + b"x" * padding + b"\r\n" + LAST


@contextmanager
def impatient(folder: Path) -> Iterator[Api]:
    """Serve a host that waits only a little for a head."""
    with served(folder, limits=ConnectionLimits(head_s=0.2)) as api:
        yield api


def test_a_head_may_have_as_many_headers_as_are_allowed(api: Api) -> None:
    answer = sent(api, GET + headers(HEADERS_MAX - 2) + LAST)  # besides Host and Connection

    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_head_with_one_header_more_is_refused(api: Api) -> None:
    answer = sent(api, GET + headers(HEADERS_MAX - 1) + LAST)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"content-type: application/problem+json" in answer
    assert b'"code":"head_too_large"' in answer
    assert b"at most 64 headers" in answer


def test_a_head_may_have_as_many_bytes_as_are_allowed(api: Api) -> None:
    assert sent(api, head_of(HEAD_BYTES_MAX)).startswith(b"HTTP/1.1 200 ")


def test_a_head_with_one_byte_more_is_refused(api: Api) -> None:
    answer = sent(api, head_of(HEAD_BYTES_MAX + 1))

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"at most 16384 bytes" in answer


@pytest.mark.parametrize("start", [b"GET /", b"X", GET + b"X: ", GET + b"X"])
def test_a_head_that_never_ends_is_refused_when_it_is_too_long(api: Api, start: bytes) -> None:
    with connected(api) as client:
        client.sendall(start + b"x" * HEAD_BYTES_MAX)
        answer = rest(client)

    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))


def test_a_flood_of_headers_is_cut_off(api: Api) -> None:
    with connected(api) as client:
        try:
            client.sendall(GET)
            for _ in range(10_000):
                client.sendall(headers(100))
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            pytest.fail("the server took a million headers")


def test_a_body_does_not_count_as_head(api: Api) -> None:
    body = b" " * 4000 + b"1"
    request = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n" % len(body)

    answer = sent(api, request + b"X: " + b"x" * 16_000 + b"\r\n" + LAST + body)

    assert answer.startswith(b"HTTP/1.1 422 ")


def test_the_time_for_a_head_is_what_is_documented() -> None:
    assert ConnectionLimits().head_s == HEAD_S_MAX == 5


def test_a_connection_that_says_nothing_is_ended(tmp_path: Path) -> None:
    with impatient(tmp_path) as api, connected(api) as client:
        assert rest(client) == b""


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(tmp_path: Path) -> None:
    with impatient(tmp_path) as api, connected(api) as client:
        client.settimeout(0.01)
        drops = range(int(HEAD_S_MAX / 0.01))

        assert any(ended_after(client, b"X") for _ in drops)


def ended_after(client: socket.socket, data: bytes) -> bool:
    """Whether the server ends the connection in the moment after these bytes."""
    try:
        client.sendall(data)
        return not client.recv(1)
    except TimeoutError:
        return False
    except (BrokenPipeError, ConnectionResetError):
        return True


def test_the_next_head_on_a_connection_has_the_same_time(tmp_path: Path) -> None:
    with impatient(tmp_path) as api, connected(api) as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"GET /hea")

        assert rest(client) == b""


def test_idle_connections_keep_nobody_out(tmp_path: Path) -> None:
    with impatient(tmp_path) as api, ExitStack() as stack:
        idle = [stack.enter_context(connected(api)) for _ in range(60)]
        assert api.http.get("/healthz").status_code == 200
        ended = [rest(client) for client in idle]

    assert ended == [b""] * 60


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: 4, 4\r\n",
        b"Content-Length: +4\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
    ],
)
def test_a_body_with_two_lengths_hides_no_second_request(api: Api, lengths: bytes) -> None:
    hidden = b"0\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    first = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\n" + lengths + b"\r\n"

    answer = sent(api, first + hidden)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"ready" not in answer


@pytest.mark.parametrize(
    "request_line",
    [b"GARBAGE", b"GET", b"GET / HTTP/9.9", b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0"],
)
def test_what_is_no_http_is_answered_in_plain_text(api: Api, request_line: bytes) -> None:
    answer = sent(api, request_line + b"\r\nHost: localhost\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_garbage_after_a_request_does_not_spoil_its_answer(api: Api) -> None:
    answer = sent(api, GET + b"\r\n" + b"GARBAGE\r\n\r\n")

    assert answer.count(b"HTTP/1.1 ") <= 2
    assert b"400" not in answer.partition(b"\r\n\r\n")[0]


def test_a_body_that_breaks_off_the_protocol_is_no_request(api: Api) -> None:
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

    answer = sent(api, head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")
