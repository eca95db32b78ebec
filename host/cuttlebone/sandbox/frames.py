"""What host and guest process say to each other over their socket: one request, one reply, in turn.

The host trusts no reply: lengths are bounded before anything is allocated, and whatever does not
parse is a `BrokenFrame`, that is, a guest process that is no longer ours.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final

from cuttlebone.sandbox.execution import Description

_REQUEST: Final = Struct("<BI")
_REPLY: Final = Struct("<BIQQQ")
EXIT_STATUS: Final = Struct("<i")
"""How a process ended, as `os.waitpid` says it; from zygote to host."""
_DESCRIPTION: Final = Struct("<q?")
METERED: Final = b"metered"
"""Payload of COMPILE that asks for code which counts fuel."""
_CHUNK_BYTES: Final = 64 << 10


class Request(IntEnum):
    """What the host asks for; the payload is that of the guest's function."""

    INIT = 1
    STEP = 2
    ON_TOKEN = 3
    DESCRIBE = 4
    """Start the instance and tell ABI version and signature, for admission."""
    COMPILE = 5
    """Compile the module that the process was given; the payload says whether to meter it."""


class Reply(IntEnum):
    """How a request ended."""

    PAYLOAD = 1
    JOB_ERROR = 2
    """Payload: error code, line feed, message."""
    REFUSED = 3
    """Payload: what is wrong with the module."""
    FAULT = 4
    """Payload: a bug of ours, for the log."""


class BrokenFrame(Exception):
    """Bytes that are no frame, or one that is longer than it may be."""


@dataclass(frozen=True, slots=True)
class ProcessReply:
    """One reply, with what the guest has used so far."""

    kind: Reply
    payload: bytes = b""
    guest_ns: int = 0
    memory_bytes: int = 0
    fuel: int = 0


def pack_description(description: Description) -> bytes:
    """Payload of the answer to DESCRIBE."""
    version = -1 if description.abi_version is None else description.abi_version
    signature = description.signature
    return _DESCRIPTION.pack(version, signature is not None) + (signature or b"")


def unpack_description(payload: bytes) -> Description:
    """Inverse of `pack_description`; raise BrokenFrame."""
    if len(payload) < _DESCRIPTION.size:
        raise BrokenFrame(f"a description of {len(payload)} bytes")
    version, signed = _DESCRIPTION.unpack_from(payload)
    signature = payload[_DESCRIPTION.size :] if signed else None
    return Description(None if version < 0 else version, signature)


def send_request(connection: socket.socket, request: Request, payload: bytes) -> None:
    """Send one request; raise OSError if the other end is gone."""
    connection.sendall(_REQUEST.pack(request, len(payload)) + payload)


def receive_request(connection: socket.socket) -> tuple[Request, bytes] | None:
    """Wait for a request; None when the host has hung up."""
    received = _receive(connection, _REQUEST, lambda fields: fields[1])
    if received is None:
        return None
    (kind, _), payload = received
    return Request(kind), payload


def send_answer(connection: socket.socket, answer: ProcessReply) -> None:
    """Send one reply; raise OSError if the other end is gone."""
    header = _REPLY.pack(
        answer.kind, len(answer.payload), answer.guest_ns, answer.memory_bytes, answer.fuel
    )
    connection.sendall(header + answer.payload)


def receive_answer(connection: socket.socket, *, payload_bytes_max: int) -> ProcessReply | None:
    """Wait for a reply; None when the guest process has gone. Raises BrokenFrame and OSError."""

    def length_of(fields: tuple[int, ...]) -> int:
        if fields[1] > payload_bytes_max:
            raise BrokenFrame(f"a payload of {fields[1]} bytes, over {payload_bytes_max}")
        return fields[1]

    received = _receive(connection, _REPLY, length_of)
    if received is None:
        return None
    (kind, _, guest_ns, memory_bytes, fuel), payload = received
    try:
        return ProcessReply(Reply(kind), payload, guest_ns, memory_bytes, fuel)
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
