"""The client for code that awaits: the twin of `Client`, method for method."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Self, TypeVar, Unpack

import httpx
from httpx_sse import EventSource, SSEError

from cuttlebone.client import api_calls
from cuttlebone.client.api_calls import ANSWER_BYTES_MAX, PAGE_JOBS_MAX, WAIT_S_MAX, Call
from cuttlebone.client.batches import PATIENCE_S, Batches
from cuttlebone.client.exchange import BROKEN, TIMEOUT_S, Exchange, trouble_of
from cuttlebone.client.host_address import address_of
from cuttlebone.client.job_selection import JobSelection, PageSelection
from cuttlebone.client.refusal import NoHost, Refused, RetryBudget, Unreachable
from cuttlebone.client.resumption import Resumption, RetryPause
from cuttlebone.client.stream_event import StreamEvent
from cuttlebone.client.streams import BoundedAsyncStream
from cuttlebone.client.submit_options import JobOptions, SubmitOptions
from cuttlebone.http_types import (
    BlockResource,
    DeliveryList,
    JobPage,
    JobResource,
    JobSummary,
    ListedJob,
    ModelResource,
    SpecList,
)
from cuttlebone_abi import Envelope, Json

T = TypeVar("T")


class AsyncClient:
    """Talks to one host. For use in one event loop of asyncio; an asynchronous context manager.

    Every method raises Refused for an answer that refuses, and Unreachable if there is none or
    none that a host would give.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry_s: float = 0,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Without `url` and `token` these are CUTTLEBONE_URL and CUTTLEBONE_TOKEN, where they are set.

        A `url` may be `unix:PATH`. `retry_s` is how long a call may pause in all where the host refuses
        it for now, by 429 or 503. `transport` replaces the network; `pause` waits between attempts.
        """
        address = address_of(url, token)
        self.url = address.url
        self._pause = pause
        self._retry_s = retry_s
        self._exchange = Exchange(address, timeout_s)
        if transport is None and address.socket is not None:
            transport = httpx.AsyncHTTPTransport(uds=address.socket)
        # Proxies of the environment are left aside: a job's input must not pass through a third party.
        self._http = httpx.AsyncClient(
            base_url=address.base_url, headers=address.headers, transport=transport, trust_env=False
        )

    async def submit(self, spec: str, value: Json, **options: Unpack[SubmitOptions]) -> JobResource:
        """Submit a job with `value` as its input, see `SubmitOptions`."""
        return await self._do(api_calls.submit(spec, value, options))

    async def submit_many(
        self,
        spec: str,
        values: Iterable[Json],
        *,
        patience_s: float = PATIENCE_S,
        **options: Unpack[JobOptions],
    ) -> list[JobSummary | Refused]:
        """Submit a job for each of `values`; return for each the job, or why it was refused.

        Those that the host has no room for are submitted again when it says so, until for `patience_s`
        there was room for none.
        """
        batches = Batches(spec, values, options, patience_s=patience_s)
        while (call := batches.next_call()) is not None:
            pause_s = batches.note(await self._do(call))
            if pause_s:
                await self._pause(pause_s)
        return batches.outcomes()

    async def run(self, spec: str, value: Json, **options: Unpack[SubmitOptions]) -> Envelope:
        """Submit a job, wait for its end and return its envelope."""
        submitted = await self.submit(spec, value, **options)
        job = await self.wait(submitted.id)
        return job.envelope or await self.result(job.id)

    async def job(self, job_id: str, *, wait_s: float = 0) -> JobResource:
        """Return a job as it stands, once it is final or `wait_s` (at most 60) seconds have passed."""
        return await self._do(api_calls.job(job_id, wait_s=wait_s))

    async def jobs(self, **chosen: Unpack[PageSelection]) -> JobPage:
        """Return a page of jobs, newest first, see `PageSelection`."""
        return await self._do(api_calls.jobs(chosen))

    async def all_jobs(
        self, *, envelopes: bool = False, **chosen: Unpack[JobSelection]
    ) -> AsyncGenerator[ListedJob, None]:
        """Yield all jobs that are meant, newest first, page by page."""
        cursor, more = None, True
        while more:
            page = await self.jobs(
                envelopes=envelopes, limit=PAGE_JOBS_MAX, cursor=cursor, **chosen
            )
            for job in page.jobs:
                yield job
            cursor, more = page.cursor, page.cursor is not None

    async def wait_all(
        self, *, envelopes: bool = False, **chosen: Unpack[JobSelection]
    ) -> list[ListedJob]:
        """Return all jobs that are meant once none is queued or running, as patient as `wait`."""
        waiting, pending = RetryPause(), True
        while pending:
            try:
                page = await self.jobs(wait_s=WAIT_S_MAX, limit=1, **chosen)
            except (Refused, Unreachable) as error:
                await self._pause(waiting.delay_s(error))
                continue
            waiting.note_answer()
            pending = bool(page.pending)
        return [job async for job in self.all_jobs(envelopes=envelopes, **chosen)]

    async def cancel_all(self, **chosen: Unpack[JobSelection]) -> int:
        """Ask for the end of all jobs that are meant; return how many had not ended and were not asked."""
        return (await self._do(api_calls.cancel_all(chosen))).jobs

    async def forget_all(self, **chosen: Unpack[JobSelection]) -> int:
        """Wipe all jobs that are meant and have ended; return how many."""
        return (await self._do(api_calls.forget_all(chosen))).jobs

    async def wait(self, job_id: str) -> JobResource:
        """Return a job once it is final, however long that takes, over restarts of the host."""
        waiting = RetryPause()
        while True:
            try:
                job = await self.job(job_id, wait_s=WAIT_S_MAX)
            except (Refused, Unreachable) as error:
                await self._pause(waiting.delay_s(error))
                continue
            waiting.note_answer()
            if job.status.final:
                return job

    async def cancel(self, job_id: str) -> JobResource:
        """Ask for the end of a job; one that is final already stays as it is."""
        return await self._do(api_calls.cancel(job_id))

    async def forget(self, job_id: str) -> None:
        """Wipe a final job: input, events, journal, envelope."""
        await self._do(api_calls.forget(job_id))

    async def result(self, job_id: str) -> Envelope:
        """Return the envelope of a final job."""
        return await self._do(api_calls.result(job_id))

    async def journal(self, job_id: str) -> bytes:
        """Return the recorded steps of a job as the JSON document that `cuttlebone replay` reads."""
        return await self._do(api_calls.journal(job_id))

    async def deliveries(self, job_id: str) -> DeliveryList:
        """Return what became of the callback of a job."""
        return await self._do(api_calls.deliveries(job_id))

    async def upload_block(self, wasm: bytes) -> BlockResource:
        """Bring a block, so that specs can name it by its digest; the same one again does no harm."""
        return await self._do(api_calls.upload_block(wasm))

    async def forget_block(self, digest: str) -> None:
        """Remove an upload that no spec names by its digest, with or without `sha256:`."""
        await self._do(api_calls.forget_block(digest))

    async def blocks(self) -> list[BlockResource]:
        """Return the blocks of the host."""
        return (await self._do(api_calls.blocks())).blocks

    async def specs(self) -> SpecList:
        """Return what can be submitted, and the spec files with a fault."""
        return await self._do(api_calls.specs())

    async def models(self) -> list[ModelResource]:
        """Return what the host serves."""
        return (await self._do(api_calls.models())).models

    async def events(self, job_id: str, *, after: int = 0) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of a job with numbers above `after` as they happen, up to its result.

        A broken stream is taken up again where it stopped; only when the host stays away for
        several attempts in a row is it Unreachable.
        """
        stream = Resumption(after)
        while not stream.ended:
            try:
                async with aclosing(self._connection(job_id, stream)) as connection:
                    async for event in connection:
                        yield event
                stream.note_end()
                trouble = "the stream ended before the result"
            except httpx.RequestError as error:
                trouble = trouble_of(error)
            except NoHost:
                raise
            except Unreachable as error:  # where a linked event was to be fetched
                trouble = str(error)
            if not stream.ended:
                delay_s = stream.patience.retry_delay_s()
                if delay_s is None:
                    raise self._exchange.lost(job_id, trouble)
                await self._pause(delay_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _connection(
        self, job_id: str, stream: Resumption
    ) -> AsyncGenerator[StreamEvent, None]:
        path = api_calls.job_path(job_id, "/events")
        request = self._exchange.stream_request(self._http, path, stream.headers)
        response = await self._http.send(request, stream=True)
        try:
            if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                return  # A host that stops or starts: it, or the next one, will answer again.
            if response.is_error:
                raise self._exchange.refusal(response, await self._body(response))
            self._exchange.check_stream(response)
            assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101  # sent by an AsyncClient
            response.stream = BoundedAsyncStream(response.stream)
            try:
                async for sse in EventSource(response).aiter_sse():
                    number = stream.linked(sse.id, sse.event)
                    event = (
                        stream.take(sse.id, sse.event, sse.data)
                        if number is None
                        else stream.note(await self._event(job_id, number))
                    )
                    if event is not None:
                        yield event
                    if stream.ended:
                        return
            except (SSEError, ValueError) as error:
                raise self._exchange.no_host(str(error)) from None
        finally:
            await response.aclose()

    async def _event(self, job_id: str, number: int) -> StreamEvent:
        """Fetch an event that the stream only links: by its number here, wherever the link leads."""
        found = await self._do(api_calls.event(job_id, number))
        return StreamEvent(number=number, kind=found.kind, data=found.data)

    async def _do(self, call: Call[T]) -> T:
        budget = RetryBudget(self._retry_s)
        while True:
            try:
                return await self._once(call)
            except Refused as error:
                await self._pause(budget.delay_s(error))

    async def _once(self, call: Call[T]) -> T:
        for pause_s in self._exchange.pauses_s(call):
            try:
                request = self._exchange.request(self._http, call)
                response = await self._http.send(request, stream=True)
                try:
                    body = await self._body(response, call.bytes_max)
                finally:
                    await response.aclose()
                return self._exchange.value(call, response, body)
            except httpx.RequestError as error:
                if pause_s is None or not isinstance(error, BROKEN):
                    raise self._exchange.unreachable(error) from None
                await self._pause(pause_s)
        raise AssertionError("the last attempt returns or raises")

    async def _body(self, response: httpx.Response, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            self._exchange.added(body, part, bytes_max)
        return bytes(body)
