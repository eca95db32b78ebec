"""The client that awaits, made to look like the one that waits, so that one suite holds both."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from cuttlebone.client import AsyncClient, ListedJob, StreamEvent

T = TypeVar("T")


class Awaited:
    """Runs every coroutine of a client to its end. Owned by one test."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:  # whatever that method returns
        method = getattr(self._client, name)
        return lambda *arguments, **named: self._runner.run(method(*arguments, **named))

    def events(self, job_id: str, *, after: int = 0) -> Iterator[StreamEvent]:
        """Yield what the client yields."""
        yield from self._each(self._client.events(job_id, after=after))

    def all_jobs(self, **chosen: Any) -> Iterator[ListedJob]:  # as the client takes it
        """Yield what the client yields."""
        yield from self._each(self._client.all_jobs(**chosen))

    def _each(self, found: AsyncGenerator[T, None]) -> Iterator[T]:
        try:
            with suppress(StopAsyncIteration):
                while True:
                    yield self._runner.run(anext(found))
        finally:
            self._runner.run(found.aclose())
