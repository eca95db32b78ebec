"""Who may ask: programs on this machine, and no web page that is not the host's own."""

import socket
from pathlib import Path

import httpx
import pytest

from api.hosted import BOUND_S, Api, served
from cuttlebone.api import HttpServer, create_app, listen


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "LOCALHOST:8420", "127.0.0.1", "[::1]:8420"]
)
def test_loopback_names_are_answered_with_any_port(api: Api, host: str) -> None:
    assert api.http.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example:8420",
        "localhost@attacker.example",
        "127.0.0.2",
        "::1",
        "localhost:port",
        "localhost:8420:8420",
        "",
    ],
)
def test_a_name_that_somebody_made_lead_here_is_refused(api: Api, host: str) -> None:
    answer = api.http.get("/healthz", headers={"Host": host})

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_host")


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: attacker.example\r\n"])
def test_a_request_has_exactly_one_host(api: Api, hosts: bytes) -> None:
    with socket.create_connection(api.address, timeout=BOUND_S) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
        answer = client.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"bad_request"' in answer


@pytest.mark.parametrize(
    "origin", ["https://attacker.example", "null", "http://localhost:1", "http://127.0.0.1", ""]
)
def test_a_foreign_web_page_is_refused_and_changes_nothing(tmp_path: Path, origin: str) -> None:
    with served(tmp_path) as api:
        answer = api.http.post(
            "/v1/jobs", json={"spec": "echo", "input": 1}, headers={"Origin": origin}
        )

        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_origin")
        assert api.http.get("/v1/jobs").json()["jobs"] == []


def test_the_own_origin_of_a_host_is_welcome(api: Api) -> None:
    assert api.http.get("/healthz", headers={"Origin": api.server.url}).status_code == 200


def test_no_answer_lets_a_page_of_another_origin_read_it(api: Api) -> None:
    preflight = api.http.options(
        "/v1/jobs",
        headers={"Origin": api.server.url, "Access-Control-Request-Method": "POST"},
    )
    shown = api.http.get("/v1/jobs")

    headers = {*preflight.headers, *shown.headers}
    assert not [name for name in headers if name.startswith("access-control-")]


def test_the_address_that_a_host_is_bound_to_is_answered_too(tmp_path: Path) -> None:
    with served(tmp_path) as api, listen("127.0.0.9", 0) as listener:
        app = create_app(api.host, version="0", names=("127.0.0.9",))
        with HttpServer(app, listener, grace_s=1) as server:
            assert httpx.get(f"{server.url}/healthz").status_code == 200
