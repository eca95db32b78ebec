"""Clients that submit as fast as a host answers: plain sockets, so that little of the time is theirs."""

import asyncio
import json
import statistics
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvloop


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of clients measured."""

    per_s: float
    """Requests answered with 202."""
    p50_ms: float
    p99_ms: float


def submit_all(url: str, *, clients: int, requests: int, spec: str = "echo") -> Load:
    """Submit `requests` jobs from `clients` connections at once; raise AssertionError if one is refused."""
    return uvloop.run(_submit_all(url, clients, requests, spec))


async def _submit_all(url: str, clients: int, requests: int, spec: str) -> Load:
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 0
    body = json.dumps({"spec": spec, "input": {"path": "texts/tide-mill.txt"}}).encode()
    request = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    left = iter(range(requests))
    times_s: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        for _ in left:
            began_s = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 202"), head
            length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            times_s.append(time.perf_counter() - began_s)
        writer.close()

    began_s = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    spent_s = time.perf_counter() - began_s
    cuts = statistics.quantiles(times_s, n=100)
    return Load(len(times_s) / spent_s, 1e3 * cuts[49], 1e3 * cuts[98])
