"""What host and locked process say to each other over their socket: one request, one reply, in turn.

The host trusts no reply: lengths are bounded before anything is allocated, and whatever does not
parse is a `BrokenFrame`, that is, a process that is no longer ours.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final, TypeAlias

_REQUEST: Final = Struct("<BI")
_REPLY: Final = Struct("<BIQQQ")
EXIT_STATUS: Final = Struct("<i")
"""How a process ended, as `os.waitpid` says it; from zygote to host."""
_CHUNK_BYTES: Final = 64 << 10

Counters: TypeAlias = tuple[int, int, int]
"""What a session has used so far; what each number counts is said by its program."""
NO_COUNTERS: Final[Counters] = (0, 0, 0)


class ReplyKind(IntEnum):
    """How a request ended."""

    DONE = 1
    FAILED = 2
    """It cannot be met; the payload says why, in the program's own form."""
    OUT_OF_MEMORY = 3
    FAULT = 4
    """A bug of ours; the payload is text for the log."""


class BrokenFrame(Exception):
    """Bytes that are no frame, or one that is longer than it may be."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request."""

    kind: ReplyKind
    payload: bytes = b""
    counters: Counters = NO_COUNTERS


def send_request(connection: socket.socket, request: int, payload: bytes) -> None:
    """Send one request, 0 to 255; raise OSError if the other end is gone."""
    connection.sendall(_REQUEST.pack(request, len(payload)) + payload)


def receive_request(connection: socket.socket) -> tuple[int, bytes] | None:
    """Wait for a request; None when the host has hung up."""
    received = _receive(connection, _REQUEST, lambda fields: fields[1])
    if received is None:
        return None
    (request, _), payload = received
    return request, payload


def send_reply(connection: socket.socket, reply: Reply) -> None:
    """Send one reply; raise OSError if the other end is gone."""
    header = _REPLY.pack(reply.kind, len(reply.payload), *reply.counters)
    connection.sendall(header + reply.payload)


def receive_reply(connection: socket.socket, *, payload_bytes_max: int) -> Reply | None:
    """Wait for a reply; None when the locked process has gone. Raises BrokenFrame and OSError."""

    def length_of(fields: tuple[int, ...]) -> int:
        if fields[1] > payload_bytes_max:
            raise BrokenFrame(f"a payload of {fields[1]} bytes, over {payload_bytes_max}")
        return fields[1]

    received = _receive(connection, _REPLY, length_of)
    if received is None:
        return None
    (kind, _, first, second, third), payload = received
    try:
        return Reply(ReplyKind(kind), payload, (first, second, third))
    except ValueError:
        raise BrokenFrame(f"a reply of unknown kind {kind}") from None


def _receive(
    connection: socket.socket, header: Struct, length_of: Callable[[tuple[int, ...]], int]
) -> tuple[tuple[int, ...], bytes] | None:
    # Most frames arrive whole with one call; only long ones are gathered.
    data = connection.recv(_CHUNK_BYTES)
    while len(data) < header.size:
        more = connection.recv(_CHUNK_BYTES) if data else b""
        if not more:
            return None
        data += more
    fields = header.unpack_from(data)
    missing = header.size + length_of(fields) - len(data)
    if missing < 0:
        raise BrokenFrame("bytes after the end of a frame")
    if not missing:
        return fields, data[header.size :]
    rest = _receive_exactly(connection, missing)
    return None if rest is None else (fields, data[header.size :] + rest)


def _receive_exactly(connection: socket.socket, count: int) -> bytes | None:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
