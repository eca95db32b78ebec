"""How fast streams may be served in all: guests and everybody else keep most of the time."""

import asyncio
import math
from typing import Final

SHARE: Final = 0.1
"""Of one processor, that serving streams may take on average."""
SECONDS_A_WRITE: Final = 60e-6
"""What handing a piece to a connection costs about, however small it is."""
SECONDS_A_BYTE: Final = 1e-9
"""What each byte of it costs about, on its way through the kernel."""
BURST_S: Final = 0.01
"""What may be taken at once after a while of little: a few readers never wait."""
TICK_S: Final = 0.02
"""Those who wait go on together at these moments: each waking interrupts the threads of jobs."""


class StreamPacer:
    """Gives turns to all streams of a host, in the order in which they ask. Owner: the event loop.

    Invariant: up to any moment no more than BURST_S and SHARE of the time was given. What readers
    want beyond that reaches them later and in larger pieces, and costs less so.
    """

    def __init__(self, share: float = SHARE) -> None:
        self._share = share
        self._paid_at_s = -math.inf

    async def turn(self, size_bytes: int) -> None:
        """Wait until so many bytes may be handed to a connection; always let others go first once."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        begin_s = max(self._paid_at_s, now_s - BURST_S / self._share)
        self._paid_at_s = begin_s + (SECONDS_A_WRITE + size_bytes * SECONDS_A_BYTE) / self._share
        if begin_s <= now_s:
            await asyncio.sleep(0)
            return
        await _until(math.ceil(begin_s / TICK_S) * TICK_S)


async def _until(moment_s: float) -> None:
    loop = asyncio.get_running_loop()
    reached: asyncio.Future[None] = loop.create_future()
    handle = loop.call_at(moment_s, _reach, reached)
    try:
        await reached
    finally:
        handle.cancel()


def _reach(reached: asyncio.Future[None]) -> None:
    if not reached.done():
        reached.set_result(None)
