"""Clients that submit as fast as a host answers, or follow a job by the hundred.

Plain sockets, so that little of the time is theirs.
"""

import asyncio
import json
import statistics
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import uvloop

PROBE_EVERY_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of clients measured."""

    per_s: float
    """Requests that were accepted."""
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
            await _answered(reader)
            times_s.append(time.perf_counter() - began_s)
        writer.close()

    began_s = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    spent_s = time.perf_counter() - began_s
    cuts = statistics.quantiles(times_s, n=100)
    return Load(len(times_s) / spent_s, 1e3 * cuts[49], 1e3 * cuts[98])


def health_p99_ms(url: str, job: str, *, streams: int, waits: int, probes: int) -> float:
    """Ask for the health of a host while so many clients follow a running job; 99 % are faster."""
    return uvloop.run(_health_p99_ms(url, job, streams, waits, probes))


async def _health_p99_ms(url: str, job: str, streams: int, waits: int, probes: int) -> float:
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 0

    async def ask(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(_get(path, address.netloc))
        return reader, writer

    events, resource = f"/v1/jobs/{job}/events", f"/v1/jobs/{job}?wait=60"
    followers = [await ask(events) for _ in range(streams)]
    for reader, _ in followers:
        await reader.readuntil(b"\n\n")  # the snapshot of the job: the stream is open
    followers += [await ask(resource) for _ in range(waits)]
    reader, writer = await ask("/healthz")
    await _answered(reader)
    times_s = []
    for _ in range(probes):
        await asyncio.sleep(PROBE_EVERY_S)
        began_s = time.perf_counter()
        writer.write(_get("/healthz", address.netloc))
        await _answered(reader)
        times_s.append(time.perf_counter() - began_s)
    for _, follower in followers:
        follower.close()
    return 1e3 * statistics.quantiles(times_s, n=100)[98]


def _get(path: str, host: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


async def _answered(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.split(b" ", 2)[1].startswith(b"2"), head
    length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
    return await reader.readexactly(int(length))
