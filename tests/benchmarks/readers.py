"""Clients that follow one job together, in a process of their own, and one that asks how the host is meanwhile."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

import uvloop

PROBE_EVERY_S: Final = 0.01
READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Followed:
    """What the readers of one job were sent, and how the host was."""

    mib_per_s: float
    """All readers together."""
    healthz_p99_ms: float


class Readers:
    """Readers in another process, all of whom have their snapshot. Owner: `following`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def told(self) -> Followed:
        """Wait until they have ended; return what they were sent."""
        output, _ = self._process.communicate()
        return Followed(**json.loads(output))


@contextmanager
def following(url: str, job: str, readers: int, *, to_the_end: bool = False) -> Iterator[Readers]:
    """Let so many readers follow a job while the body runs, or to the end of the job."""
    process = subprocess.Popen(
        [sys.executable, __file__, url, job, str(readers), *(["end"] if to_the_end else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.readline()
    yield Readers(process)
    if not to_the_end:
        process.stdin.write("enough\n")
        process.stdin.flush()


async def _follow(url: str, job: str, readers: int, *, to_the_end: bool) -> Followed:
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or 0
    streams = [_Reader() for _ in range(readers)]
    tasks = [asyncio.create_task(one.read(host, port, job)) for one in streams]
    await asyncio.gather(*(one.begun.wait() for one in streams))
    began_s, ended = time.perf_counter(), asyncio.Event()
    size = sum(one.size for one in streams)
    probe = asyncio.create_task(_probe(host, port, ended))
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    if to_the_end:
        await asyncio.gather(*tasks)
    else:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    spent_s = time.perf_counter() - began_s
    ended.set()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return Followed((sum(one.size for one in streams) - size) / (1 << 20) / spent_s, await probe)


class _Reader:
    """One stream. Owner: its task."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.size = 0

    async def read(self, host: str, port: int, job: str) -> None:
        """Read to the end."""
        reader, writer = await asyncio.open_connection(host, port, limit=READ_BYTES)
        writer.write(_get(f"/v1/jobs/{job}/events?after=0", host, "close"))
        while data := await reader.read(READ_BYTES):
            self.size += len(data)
            self.begun.set()
        writer.close()


async def _probe(host: str, port: int, ended: asyncio.Event) -> float:
    reader, writer = await asyncio.open_connection(host, port)
    times_s = []
    while not ended.is_set():
        await asyncio.sleep(PROBE_EVERY_S)
        began_s = time.perf_counter()
        writer.write(_get("/healthz", host, "keep-alive"))
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        times_s.append(time.perf_counter() - began_s)
    writer.close()
    return 1e3 * statistics.quantiles(times_s, n=100)[98]


def _get(path: str, host: str, connection: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n\r\n".encode()


if __name__ == "__main__":
    stated = sys.argv[1:]
    found = uvloop.run(_follow(stated[0], stated[1], int(stated[2]), to_the_end="end" in stated))
    sys.stdout.write(json.dumps(asdict(found)))
