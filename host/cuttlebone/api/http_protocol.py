"""HTTP/1.1 as the server reads and writes it: limits on heads, on slow readers, on connections."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from cuttlebone.api.connection_limits import ConnectionLimits, ConnectionSlots
from cuttlebone.api.problems import MEDIA_TYPE, problem_of
from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone_abi import dump_json

HEADERS_MAX: Final = 64
HEAD_BYTES_MAX: Final = 16 << 10
"""Request line and headers."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Owner: the event loop, which calls it.

    By itself the server waits forever for the rest of a head and for a client to read, takes heads
    of any size and any number of connections. Invariants: while a head is awaited a deadline is
    set; no more than HEAD_BYTES_MAX of a head are held; while more of an answer waits for the
    client than the transport likes to hold, somebody looks whether it takes any; a connection
    without a slot is never parsed. What is over a limit is refused before anything of the request
    is handled. Bodies have their limits where they are received, see `request_body.py`.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # as the server has it
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        slots: ConnectionSlots,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._slots = slots
        self._has_slot = False
        self._has_refusal_slot = False
        self._deadline: asyncio.TimerHandle | None = None
        self._in_head = True
        self._head_bytes = 0
        self._refused = False
        self._reader_check: asyncio.TimerHandle | None = None
        self._untaken_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Wait for the first head, but not for long; turn away what finds no slot."""
        super().connection_made(transport)
        self._has_slot = self._slots.acquire()
        if self._has_slot:
            self._await_head(self._limits.head_s)
        else:
            self._turn_away()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the slot and of all that would look after the connection."""
        self._forget_deadline()
        self._forget_reader()
        if self._has_slot:
            self._slots.release()
        if self._has_refusal_slot:
            self._slots.release_refusal()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, while in a head no more than may still belong to it."""
        if not self._has_slot:
            return
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
        self._await_head(self._limits.head_s)

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
            self._await_head(self._limits.keep_alive_s + self._limits.head_s)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body; one of a refused request belongs to nobody."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a request: what comes now is the head of the next."""
        self._in_head = True
        if not self._refused:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Stop writing while much waits for the client, and look whether it takes any of it."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on: the client has taken most of it."""
        self._forget_reader()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; never into the middle of the answer before."""
        if self.transport.is_closing():
            return
        if self._answering():
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def _turn_away(self) -> None:
        """Say at once that there is no slot, and read on for a moment.

        Closing on a request that was not read would take the answer away from its client.
        """
        self._has_refusal_slot = self._slots.acquire_refusal()
        if not self._has_refusal_slot:
            self.transport.abort()
            return
        error = CallerError(
            ProblemCode.TOO_MANY_CONNECTIONS,
            f"{self._limits.connections} connections are open already (`connections_max`); "
            "close those that are not used, and try again later",
            retry_after_s=RETRY_LATER_S,
        )
        self.transport.write(last_answer(error))
        self.transport.write_eof()
        self._deadline = self.loop.call_later(self._limits.linger_s, self.transport.abort)

    def _refuse(self, reason: str) -> None:
        if self._refused:
            return
        self._refused = True
        if self._answering():
            self.transport.abort()
            return
        self.transport.write(last_answer(CallerError(ProblemCode.HEAD_TOO_LARGE, reason)))
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
        if self.transport.get_write_buffer_size():
            # The client is still taking the answer before, which may be long; that has limits of its own.
            self._watch_reader()
            self._await_head(self._limits.head_s)
            return
        # A request before this one may still be answered; then the client has sent half of the next.
        self.transport.abort()

    def _watch_reader(self) -> None:
        if self._reader_check is None:
            self._untaken_bytes = self.transport.get_write_buffer_size()
            self._reader_check = self.loop.call_later(
                self._limits.transfer.stall_s, self._check_reader
            )

    def _check_reader(self) -> None:
        """Cut the connection if too little was taken since the last look. Nothing was added meanwhile."""
        self._reader_check = None
        left = self.transport.get_write_buffer_size()
        transfer = self._limits.transfer
        if left and self._untaken_bytes - left < transfer.bytes_per_s * transfer.stall_s:
            self.transport.abort()
        elif left:
            self._watch_reader()

    def _forget_reader(self) -> None:
        if self._reader_check is not None:
            self._reader_check.cancel()
            self._reader_check = None


def last_answer(error: CallerError) -> bytes:
    """Write a refusal as the last answer on a connection, for what never becomes a request."""
    problem = problem_of(error, "")
    body = dump_json(problem)
    status = HTTPStatus(problem.status)
    again = "" if error.retry_after_s is None else f"retry-after: {error.retry_after_s}\r\n"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        f"{again}connection: close\r\n\r\n"
    )
    return head.encode() + body
