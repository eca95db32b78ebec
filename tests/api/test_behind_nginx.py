"""The recipe of docs/operations.md, word for word but for its certificate and its addresses."""

import hashlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest
from httpx_sse import connect_sse

from api.hosted import SCRIPTS, Api, Gate, served
from bounds import BOUND_S
from cuttlebone.specs.block_registry import BLOCK_BYTES_MAX

PAGE: Final = Path(__file__).parents[2] / "docs" / "operations.md"
NGINX: Final = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
WHOLE: Final = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {recipe}
}}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def recipe(host: str, port: int) -> str:
    """The server of the page, on a port of loopback, without a certificate, before `host`."""
    found = PAGE.read_text(encoding="utf-8").split("```nginx\n")[1].split("```")[0]
    plain = re.sub(r"^ *ssl_certificate.*\n", "", found, flags=re.MULTILINE)
    return plain.replace("127.0.0.1:8420", host).replace("443 ssl", f"127.0.0.1:{port}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def proxied(api: Api, folder: Path) -> Iterator[httpx.Client]:
    """Ask through nginx while the body runs."""
    port = free_port()
    host = ":".join(str(part) for part in api.address)
    config = folder / "nginx.conf"
    config.write_text(WHOLE.format(folder=folder, recipe=recipe(host, port)))
    command = [str(NGINX), "-e", "stderr", "-p", str(folder), "-c", str(config)]
    nginx = subprocess.Popen(command)
    # Connecting is tried again until it listens: nginx says nothing when it does.
    transport = httpx.HTTPTransport(retries=8)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=BOUND_S)
    try:
        with client as http:
            yield http
    finally:
        nginx.terminate()
        nginx.wait(BOUND_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where nginx keeps what it needs."""
    made = tmp_path / "nginx"
    made.mkdir()
    return made


def test_events_come_through_as_they_happen_and_the_stream_ends(
    tmp_path: Path, folder: Path
) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}) as api, proxied(api, folder) as http:
        job = http.post("/v1/jobs", json={"spec": "gate", "input": None}).json()
        told = []
        with connect_sse(http, "GET", job["links"]["events"]) as stream:
            for event in stream.iter_sse():
                told.append(event.event)
                if (
                    event.data == '"waiting"'
                ):  # held back, it would never come: the job waits for it
                    gate.open()
    assert told[0] == "snapshot"
    assert told[-1] == "result"


def test_a_stream_is_resumed_through_it_and_a_wait_answered(tmp_path: Path, folder: Path) -> None:
    with served(tmp_path) as api, proxied(api, folder) as http:
        job = http.post("/v1/jobs", json={"spec": "echo", "input": 5}).json()
        ended = http.get(job["links"]["self"], params={"wait": 10}).json()
        with connect_sse(
            http, "GET", job["links"]["events"], headers={"Last-Event-ID": "3"}
        ) as stream:
            told = [event.id for event in stream.iter_sse() if event.id]
    assert ended["envelope"]["result"] == 5
    assert told == ["4", "5"]


def test_it_is_the_host_that_refuses_what_is_too_large_and_names_that_are_not_its_own(
    tmp_path: Path, folder: Path
) -> None:
    large = b"x" * (BLOCK_BYTES_MAX + 1)
    with served(tmp_path, SCRIPTS) as api, proxied(api, folder) as http:
        too_large = http.put(
            f"/v1/blocks/{hashlib.sha256(large).hexdigest()}",
            content=large,
            headers={"Content-Type": "application/wasm"},
        )
        stranger = http.get("/healthz", headers={"Host": "attacker.example"})
    assert (too_large.status_code, too_large.json()["code"]) == (413, "body_too_large")
    assert (stranger.status_code, stranger.json()["code"]) == (403, "forbidden_host")
