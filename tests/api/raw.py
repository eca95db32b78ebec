"""HTTP as bytes on a socket, for what no client library would send."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from api.hosted import BOUND_S, Api

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def connected(api: Api) -> Iterator[socket.socket]:
    with socket.create_connection(api.address, timeout=BOUND_S) as client:
        yield client


def rest(client: socket.socket) -> bytes:
    """What still comes until the server ends the connection."""
    received = bytearray()
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass  # the server hung up on bytes that it had not read
    return bytes(received)


def sent(api: Api, data: bytes) -> bytes:
    """Send bytes, then read until the server ends the connection."""
    with connected(api) as client:
        client.sendall(data)
        return rest(client)
