"""Bodies as they come in, from clients that must not let the host wait for ever."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import Request
from starlette.requests import ClientDisconnect

from cuttlebone.api.connection_limits import Pace
from cuttlebone.errors import CallerError, ProblemCode


async def body_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in parts; raise CallerError `body_timeout` if it stands still or only trickles.

    Only the time counts in which the host waits for the client: what the host itself takes for a
    part, as a busy disk does, is nobody's fault out there. It raises ClientDisconnect as well.
    """
    pace: Pace = request.state.pace
    clock = asyncio.get_running_loop().time
    received, waited_s, more = 0, 0.0, True
    # Not the stream of the framework, which asks twice more at the end: each wait has its price.
    while more:
        left_s = pace.stall_s + received / pace.bytes_per_s - waited_s
        began_s = clock()
        try:
            async with asyncio.timeout(min(left_s, pace.stall_s)):
                message = await request.receive()
        except TimeoutError:
            raise _too_slow(pace, received, clock() - began_s) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        waited_s += clock() - began_s
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        received += len(part)
        if part:
            yield part


def _too_slow(pace: Pace, received: int, stood_still_s: float) -> CallerError:
    return CallerError(
        ProblemCode.BODY_TIMEOUT,
        f"after {received} bytes of the body nothing came for {stood_still_s:.1f} s; a body may not "
        f"stand still for {pace.stall_s:g} s (`stall_timeout_s`), and has to come with at least "
        f"{pace.bytes_per_s} bytes a second on average once the host has waited that long in all",
    )
