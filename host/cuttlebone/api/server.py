"""The HTTP server: a thread that serves on a socket which listens already, and an end in time."""

import asyncio
import logging
import math
import queue
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Self, cast

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI

from cuttlebone.api.app_state import state_of
from cuttlebone.api.connection_limits import ConnectionSlots
from cuttlebone.api.http_protocol import BoundedProtocol
from cuttlebone.api.sockets import url_of
from cuttlebone.signals import next_wake, on_stop_signal

_JOIN_MARGIN_S: Final = 5.0
"""What the server may take beyond its grace period before it is given up."""

_log = structlog.get_logger(__name__)


class HttpServer:
    """Serves an application on a listening socket, in a thread of its own.

    Owner: whoever made it; it starts and stops the server once. Invariants: the socket is closed
    when the server has ended; once that has happened no request is answered any more.
    """

    def __init__(self, app: FastAPI, listener: socket.socket, *, grace_s: float) -> None:
        """After a stop, requests under way have `grace_s` to end; waits and streams end at once."""
        self._listener = listener
        self._grace_s = grace_s
        self._subscribers = state_of(app).subscribers
        self._server = uvicorn.Server(_config(app, grace_s))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        # A queue that may be written to in a signal handler, unlike an Event.
        self._wishes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.url = url_of(listener)

    def start(self) -> None:
        """Begin to serve; return when requests are answered."""
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """End the server; raise what made it end before, if anything did."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the server has ended by itself
                self._loop.call_soon_threadsafe(self._begin_stop)
        self._thread.join(self._grace_s + _JOIN_MARGIN_S)
        if self._thread.is_alive():
            _log.error("the HTTP server did not end in time", url=self.url)
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def serve(self, on_listening: Callable[[str], None]) -> None:
        """Serve until a stop signal, then stop. Only in the main thread.

        `on_listening` is told the URL once requests are answered.
        """
        with on_stop_signal(lambda: self._wishes.put(None)), self:
            on_listening(self.url)
            next_wake(self._wishes)

    def _begin_stop(self) -> None:
        self._subscribers.close()
        self._server.should_exit = True

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # belongs to whoever calls `stop`
            self._failure = error
        finally:
            self._listener.close()
            self._started.set()
            self._wishes.put(None)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        # The socket listens already: whoever connects from now on is answered.
        self._started.set()
        await self._server.serve(sockets=[self._listener])


def _config(app: FastAPI, grace_s: float) -> uvicorn.Config:
    limits, metrics = state_of(app).limits, state_of(app).host.status.metrics
    protocol = partial(
        BoundedProtocol,
        limits=limits,
        slots=ConnectionSlots(limits.connections, limits.refusals, metrics),
    )
    return uvicorn.Config(
        app,
        # It is only ever called, to make a connection.
        http=cast("type[asyncio.Protocol]", protocol),
        timeout_keep_alive=limits.keep_alive_s,
        ws="none",
        lifespan="off",
        # It would log paths and tracebacks in a form of its own; the host logs its faults itself.
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(grace_s),
    )
