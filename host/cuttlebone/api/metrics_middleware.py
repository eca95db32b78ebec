"""Counts and times every request, whatever becomes of it."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuttlebone.metrics import OTHER, HostMetrics

_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


class MetricsMiddleware:
    """The outermost layer, so that it sees what the others refuse. Immutable."""

    def __init__(self, app: ASGIApp, *, metrics: HostMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s, status = time.monotonic(), 0

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else OTHER
            took_s = time.monotonic() - began_s
            self._metrics.http_answered(method, _route(scope), status, took_s)


def _route(scope: Scope) -> str:
    """Return the pattern of the path, which the router has left in the scope: paths are unbounded."""
    return str(getattr(scope.get("route"), "path", OTHER))
