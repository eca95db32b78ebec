"""Refuses what a web page could make a browser send here, before any route sees it."""

import re
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cuttlebone.api.problems import refusal
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.text import printable

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[1-9][0-9]{0,4})?")


class OriginMiddleware:
    """Refuses what a web page could make a browser send here. Immutable.

    A page whose name is made to resolve to this machine (DNS rebinding) gives itself away by
    its `Host`; any other page by its `Origin`. There are no CORS headers, so no page of another
    origin can read an answer either.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str]) -> None:
        """`names` are those, as they stand in URLs, under which this host may be addressed."""
        self._app = app
        self._names = LOOPBACK_NAMES | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        fault = self._fault(Headers(scope=scope)) if scope["type"] == "http" else None
        if fault is None:
            await self._app(scope, receive, send)
        else:
            await refusal(fault, scope)(scope, receive, send)

    def _fault(self, headers: Headers) -> CallerError | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            return CallerError(
                ProblemCode.BAD_REQUEST,
                f"a request has one `Host` header, this one has {len(hosts)}",
            )
        host = hosts[0].lower()
        name = _HOST.fullmatch(host)
        if name is None or name[1] not in self._names:
            return CallerError(
                ProblemCode.FORBIDDEN_HOST,
                f"this host does not answer as {printable(host)!r}, "
                f"only as {', '.join(sorted(self._names))}",
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            return CallerError(
                ProblemCode.FORBIDDEN_ORIGIN,
                f"web pages of {printable(origin)!r} may not use this host; "
                "programs leave the `Origin` header out",
            )
        return None
