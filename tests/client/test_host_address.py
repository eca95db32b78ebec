"""Where a client goes, and with which token."""

import socket
import threading
from pathlib import Path

import httpx
import pytest

from cuttlebone.client import Client, Unreachable
from cuttlebone.client.host_address import address_of
from cuttlebone.text.addresses import DEFAULT_URL


@pytest.mark.parametrize(
    "url", ["http://[", "localhost:port", "ftp://host.test", "", "http://", "unix:", "unix:a\0b"]
)
def test_an_address_that_is_none_is_unreachable(url: str) -> None:
    with pytest.raises(Unreachable, match=r"address of a host|names no socket"):
        Client(url)


def test_an_address_without_a_scheme_is_one_of_http() -> None:
    found = address_of("127.0.0.1:8420", None)
    assert (found.url, found.base_url) == ("127.0.0.1:8420", "http://127.0.0.1:8420")


def test_url_and_token_come_from_the_environment_if_they_are_not_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUTTLEBONE_URL", "http://host.test:1")
    monkeypatch.setenv("CUTTLEBONE_TOKEN", "from-environment\n")
    assert address_of(None, None).url == "http://host.test:1"
    assert address_of(None, None).token == "from-environment"
    assert address_of("http://other.test", "stated").token == "stated"


def test_without_both_it_is_the_default_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUTTLEBONE_URL", "CUTTLEBONE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    found = address_of(None, None)
    assert (found.url, found.token) == (DEFAULT_URL, None)


def test_a_token_goes_with_every_request_and_into_no_message() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={"models": []})

    transport = httpx.MockTransport(answer)
    with Client("http://host.test", token="secret", transport=transport) as client:
        client.models()
    assert seen == ["Bearer secret"]
    assert "secret" not in repr(address_of("http://host.test", "secret"))


def test_a_token_with_other_characters_is_refused_without_showing_it() -> None:
    with pytest.raises(Unreachable) as caught:
        Client("http://host.test", token="sec\nret")
    assert "sec" not in str(caught.value).replace("the token", "")


def test_a_unix_socket_leads_to_a_host(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65_536)
                body = b'{"models": []}'
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
                peer.sendall(head.encode() + body)

        thread = threading.Thread(target=answer)
        thread.start()
        with Client(f"unix:{path}") as client:
            assert client.models() == []
        thread.join()
