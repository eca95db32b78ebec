"""HTTP/1.1 as the server reads it: bounds on the head of a request, in bytes, headers and time."""

import asyncio
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cuttlebone.api.problems import MEDIA_TYPE, problem_of
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone_abi import dump_json

HEAD_S_MAX: Final = 5.0
HEADERS_MAX: Final = 64
HEAD_BYTES_MAX: Final = 16 << 10
"""Request line and headers."""
KEEP_ALIVE_S: Final = 5
"""How long a connection is kept for the next request."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Owner: the event loop, which calls it.

    By itself the server waits forever for the rest of a head, and takes heads of any size: a few
    idle sockets, or one long header, would hold it. Invariants: while a head is awaited a deadline
    is set; no more than HEAD_BYTES_MAX of a head are held. What is over a bound is refused before
    anything of the request is handled.
    """

    deadline_s = HEAD_S_MAX
    """Of the whole head; a test has less patience."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Wait for the first head, but not for long."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_head = True
        self._head_bytes = 0
        self._refused = False
        self._await_head(self.deadline_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the deadline."""
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, while in a head no more than may still belong to it."""
        if self._in_head:
            room = HEAD_BYTES_MAX - self._head_bytes
            begin, data = data[:room], data[room:]
            self._head_bytes += len(begin)
            super().data_received(begin)
            if self._in_head and data:
                self._refuse(f"the head of a request has at most {HEAD_BYTES_MAX} bytes")
        if data and not self.transport.is_closing():
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Give the head of the next request its time."""
        super().on_message_begin()
        self._await_head(self.deadline_s)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, if it is not one too many."""
        if len(self.headers) >= HEADERS_MAX:
            self._refuse(f"the head of a request has at most {HEADERS_MAX} headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request over, unless it was refused already."""
        self._forget_deadline()
        self._in_head = False
        self._head_bytes = 0
        if not self._refused:
            super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Bound the time to the next head, even if bytes come that begin none."""
        super().on_response_complete()
        if self._deadline is None and not self.pipeline:
            self._await_head(KEEP_ALIVE_S + self.deadline_s)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body; one of a refused request belongs to nobody."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a request: what comes now is the head of the next."""
        self._in_head = True
        if not self._refused:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; never into the middle of the answer before."""
        if self.transport.is_closing():
            return
        if self._answering():
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def _refuse(self, reason: str) -> None:
        if self._refused:
            return
        self._refused = True
        if self._answering():
            self.transport.abort()
            return
        problem = problem_of(CallerError(ProblemCode.HEAD_TOO_LARGE, reason), "")
        body = dump_json(problem)
        status = HTTPStatus(problem.status)
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n".encode()
            + body
        )
        self.transport.close()

    def _answering(self) -> bool:
        """Whether a refusal now would be taken for the answer to a request before, or part of it."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        return self._in_head or self.cycle.response_started or bool(self.pipeline)

    def _await_head(self, seconds: float) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        # A request before this one may still be answered; then the client has sent half of the next.
        self.transport.abort()
