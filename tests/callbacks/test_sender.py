"""One message to a real server, over http and over TLS."""

import asyncio
import socket
import ssl
import subprocess
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from shutil import which

import pytest

from bounds import scaled
from cuttlebone.callbacks.policy import Target
from cuttlebone.callbacks.sender import NotDelivered, Sender
from receiving import receiving

HEADERS = {"webhook-id": "m"}


def send(target: Target, sender: Sender | None = None) -> int:
    return asyncio.run((sender or Sender()).send(target, HEADERS, b"{}"))


def test_a_message_comes_as_it_was_sent() -> None:
    with receiving() as receiver:
        assert send(Target("http", "localhost", receiver.port, "/a?b=c")) == 204
        (request,) = receiver.received()
    assert (request.path, request.body) == ("/a?b=c", b"{}")
    assert request.headers["host"] == f"localhost:{receiver.port}"
    assert request.headers["webhook-id"] == "m"


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with receiving() as receiver:
        receiver.plan = [302]
        assert send(Target("http", "127.0.0.1", receiver.port, "/")) == 302
        assert len(receiver.received()) == 1


def test_nobody_there_is_not_delivered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(NotDelivered):
        send(Target("http", "127.0.0.1", port, "/"))


def test_a_receiver_that_never_answers_is_given_up() -> None:
    opened = threading.Event()
    with receiving() as receiver:
        receiver.plan = [lambda: 204 if opened.wait(scaled(20)) else 500]
        with pytest.raises(NotDelivered, match=r"no answer within 0\.2 seconds"):
            send(Target("http", "127.0.0.1", receiver.port, "/"), Sender(timeout_s=0.2))
        opened.set()


def test_what_does_not_speak_http_is_not_delivered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(b"220 mail.example.org\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NotDelivered):
            send(Target("http", "127.0.0.1", server.getsockname()[1], "/"))
        thread.join()


def test_a_name_that_is_none_is_not_delivered() -> None:
    with pytest.raises(NotDelivered, match="cannot be looked up"):
        send(Target("https", "name.invalid", 443, "/"))


def leading_to(*addresses: str) -> Sender:
    async def look_up(_host: str, _port: int) -> list[IPv4Address | IPv6Address]:
        return [ip_address(one) for one in addresses]

    return Sender(look_up=look_up)


def test_a_name_with_one_address_that_is_not_fit_is_not_called_at_all() -> None:
    with receiving() as receiver:
        with pytest.raises(NotDelivered, match=r"203\.0\.113\.7 is no loopback address"):
            send(
                Target("http", "localhost", receiver.port, "/"),
                leading_to("127.0.0.1", "203.0.113.7"),
            )
        assert send(Target("http", "127.0.0.1", receiver.port, "/last")) == 204
        assert [one.path for one in receiver.received()] == ["/last"]


def test_where_one_address_does_not_answer_the_next_may() -> None:
    with receiving() as receiver:
        sender = leading_to("127.0.0.9", "127.0.0.1")
        assert send(Target("http", "localhost", receiver.port, "/"), sender) == 204


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for `localhost` that nobody but a test trusts, and its key."""
    if which("openssl") is None:
        pytest.skip("making a certificate needs openssl")
    folder = tmp_path_factory.mktemp("certificate")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", key, "-out", cert,
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def served_with(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_over_tls_the_certificate_has_to_be_of_the_name(certificate: tuple[Path, Path]) -> None:
    trusting = Sender(verify=ssl.create_default_context(cafile=str(certificate[0])))
    with receiving(tls=served_with(certificate)) as receiver:
        assert send(Target("https", "localhost", receiver.port, "/"), trusting) == 204
        with pytest.raises(NotDelivered, match="certificate"):
            send(Target("https", "127.0.0.1", receiver.port, "/"), trusting)
        assert len(receiver.received()) == 1


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    certificate: tuple[Path, Path],
) -> None:
    with (
        receiving(tls=served_with(certificate)) as receiver,
        pytest.raises(NotDelivered, match="certificate"),
    ):
        send(Target("https", "localhost", receiver.port, "/"))
