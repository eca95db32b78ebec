"""Hosts with narrow bounds on connections, and clients that are sockets."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.hosted import BOUND_S, SCRIPTS, Api, served
from api.raw import GET
from cuttlebone.api.connection_limits import ConnectionLimits
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json

HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"spec": "echo", "input": 1}'
LARGE = "x" * (900 << 10)


@contextmanager
def bounded(folder: Path, limits: ConnectionLimits) -> Iterator[Api]:
    with served(folder, {**SCRIPTS, "talk": talk}, limits=limits, body_bytes_max=1 << 20) as api:
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
    return api.host.status.metrics.exposition().decode()


def until_open(api: Api, count: int) -> None:
    """Wait until the host counts `count` open connections."""
    deadline = time.monotonic() + BOUND_S
    while open_connections(api) != count:
        assert time.monotonic() < deadline, f"{open_connections(api)} connections stay open"
