"""Streams of bytes that are bounded as they are read, for the reader of events behind them."""

from collections.abc import AsyncIterator, Iterator

import httpx

from cuttlebone.client.exchange import EventSizes


class BoundedStream(httpx.SyncByteStream):
    """Passes a stream on, and raises ValueError where an event in it is too large."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream
        self._sizes = EventSizes()

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            self._sizes.check(part)
            yield part

    def close(self) -> None:
        """Close what is behind it."""
        self._stream.close()


class BoundedAsyncStream(httpx.AsyncByteStream):
    """Does the same for a client that awaits."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream
        self._sizes = EventSizes()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._sizes.check(part)
            yield part

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._stream.aclose()
