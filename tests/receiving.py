"""A real HTTP server that receives callbacks and answers as a test has planned."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from bounds import scaled

BOUND_S: Final = scaled(20.0)


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Receiver:
    """Keeps what came. Owned by one test; requests come in threads of the server."""

    def __init__(self) -> None:
        self.plan: list[int | Callable[[], int]] = []
        """Statuses to answer with, in order; 204 when there are no more."""
        self.url = ""
        self.port = 0
        self._received: list[Received] = []
        self._changed = threading.Condition()

    def take(self, request: Received) -> int:
        """Keep a request; return the status to answer with."""
        with self._changed:
            self._received.append(request)
            planned = self.plan.pop(0) if self.plan else 204
            self._changed.notify_all()
        return planned if isinstance(planned, int) else planned()

    def received(self, count: int = 1) -> list[Received]:
        """Wait until `count` requests have come; return all that have."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self._received) >= count, BOUND_S)
            assert came, f"{len(self._received)} of {count} requests came"
            return list(self._received)


@contextmanager
def receiving(*, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver on a free port of 127.0.0.1, with TLS if a context is given."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(Received(self.path, headers, body))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{receiver.url}/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that went away is no news."""

    server = Quiet(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    receiver.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{receiver.port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
