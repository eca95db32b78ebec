"""Refuses what a request states twice though it counts once, before any route sees it."""

from collections import Counter
from typing import Final
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Receive, Scope, Send

from cuttlebone.api.problems import refusal
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.text import printable

SINGLE_HEADERS: Final = {
    name.lower().encode(): name
    for name in (
        "Authorization",
        "Content-Encoding",
        "Content-Length",
        "Content-Type",
        "Idempotency-Key",
        "Last-Event-ID",
        "Origin",
    )
}
"""Those that mean something here and are no list. `Host` is looked at with the names of this host."""

REPEATED_KEYS: Final = frozenset({"label", "spec", "status"})
"""Of a query: those that are lists."""


class SingleValueMiddleware:
    """Refuses what a request states twice though it counts once. Immutable.

    A proxy may go by one of the two and this host by the other, and a client that states two keys
    has a fault that would show as a second job.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        fault = _fault(scope) if scope["type"] == "http" else None
        if fault is None:
            await self._app(scope, receive, send)
        else:
            await refusal(fault, scope)(scope, receive, send)


def _fault(scope: Scope) -> CallerError | None:
    stated = Counter(name for name, _ in scope["headers"] if name in SINGLE_HEADERS)
    for name, times in stated.items():
        if times > 1:
            return _refused(f"a request has one `{SINGLE_HEADERS[name]}` header", times)
    query: bytes = scope["query_string"]
    if b"&" in query:
        keys = Counter(
            unquote_plus(part.partition("=")[0]) for part in query.decode("latin-1").split("&")
        )
        for key, times in keys.items():
            if times > 1 and key and key not in REPEATED_KEYS:
                return _refused(f"a query states `{printable(key, chars_max=64)}` once", times)
    return None


def _refused(rule: str, times: int) -> CallerError:
    return CallerError(ProblemCode.BAD_REQUEST, f"{rule}, this one has {times}; state it once")
