"""Turns an error that nobody foresaw into an answer."""

import asyncio
import uuid

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuttlebone.api.problems import refusal
from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode
from cuttlebone.text import printable

_log = structlog.get_logger(__name__)


class ErrorMiddleware:
    """Turns an error that nobody foresaw into a 500 with a reference to the log. Immutable."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer it if nothing else does."""
        started = False

        async def send_noting_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noting_start)
        except ClientDisconnect:
            return  # nobody is there to be answered
        except asyncio.CancelledError:
            # The host is stopping, and the time for requests under way is over.
            if not started:
                await refusal(_stopping(), scope)(scope, receive, send)
            raise
        except Exception:  # the last resort of a request: it is answered, and the host goes on
            refused = _logged(scope)
            if started:
                raise  # the rest of an answer is missing: only a cut connection says so
            await refusal(refused, scope)(scope, receive, send)


def _stopping() -> CallerError:
    return CallerError(
        ProblemCode.STOPPING,
        "this host stopped before it could answer; "
        "whether it did what was asked shows when it is back",
        retry_after_s=RETRY_LATER_S,
    )


def _logged(scope: Scope) -> CallerError:
    reference = uuid.uuid4().hex[:12]
    _log.exception(
        "a request met a fault of the host",
        method=scope.get("method"),
        path=printable(scope.get("path", "")),
        reference=reference,
    )
    return CallerError(
        ProblemCode.INTERNAL, f"a fault of the host; its log has the details under {reference}"
    )
