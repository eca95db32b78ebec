"""The client for code that waits: one method a request, typed, over one connection pool."""

import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

import httpx
from httpx_sse import SSEError, connect_sse

from cuttlebone.client import calls
from cuttlebone.client.calls import WAIT_S_MAX, Call
from cuttlebone.client.refusal import Refused, Unreachable, refusal
from cuttlebone.client.resources import (
    JobPage,
    JobResource,
    ModelResource,
    SpecList,
    StreamEvent,
)
from cuttlebone.client.resuming import Resumption
from cuttlebone.text import printable
from cuttlebone_abi import Envelope, JobStatus, Json, dump_json

T = TypeVar("T")

TIMEOUT_S: Final = 30.0
QUIET_S_MAX: Final = 45.0
"""Silence after which a stream counts as broken; the host sends something every 15 seconds."""
ANSWER_BYTES_MAX: Final = 64 << 20


class Client:
    """Talks to one host. Not for use by several threads at once; a context manager.

    Every method raises Refused for an answer that refuses, and Unreachable if there is none or
    none that a host would give.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`transport` replaces the network; `pause` waits between attempts to resume a stream."""
        self.url = url
        self._pause = pause
        self._timeout_s = timeout_s
        # Proxies of the environment are left aside: a job's input must not pass through a third party.
        try:
            self._http = httpx.Client(
                base_url=url, timeout=timeout_s, transport=transport, trust_env=False
            )
        except httpx.InvalidURL as error:
            raise Unreachable(f"{printable(url)!r} is no address of a host: {error}") from None

    def submit(
        self,
        spec: str,
        value: Json,
        *,
        limits: Mapping[str, int] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> JobResource:
        """Submit a job with `value` as its input; `limits` narrow those of the spec."""
        return self._do(calls.submit(spec, value, limits=limits, labels=labels))

    def job(self, job_id: str, *, wait_s: float = 0) -> JobResource:
        """Return a job as it stands, once it is final or `wait_s` (at most 60) seconds have passed."""
        return self._do(calls.job(job_id, wait_s=wait_s))

    def jobs(
        self,
        *,
        status: JobStatus | None = None,
        spec: str | None = None,
        label: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """Return a page of jobs, newest first; `label` is `key=value`."""
        return self._do(
            calls.jobs(status=status, spec=spec, label=label, limit=limit, cursor=cursor)
        )

    def wait(self, job_id: str) -> JobResource:
        """Return a job once it is final, however long that takes."""
        while True:
            job = self.job(job_id, wait_s=WAIT_S_MAX)
            if job.status.final:
                return job

    def cancel(self, job_id: str) -> JobResource:
        """Ask for the end of a job; one that is final already stays as it is."""
        return self._do(calls.cancel(job_id))

    def result(self, job_id: str) -> Envelope:
        """Return the envelope of a final job."""
        return self._do(calls.result(job_id))

    def journal(self, job_id: str) -> bytes:
        """Return the recorded steps of a job as the JSON document that `cuttlebone replay` reads."""
        return self._do(calls.journal(job_id))

    def specs(self) -> SpecList:
        """Return what can be submitted, and the spec files with a fault."""
        return self._do(calls.specs())

    def models(self) -> list[ModelResource]:
        """Return what the host serves."""
        return self._do(calls.models()).models

    def events(self, job_id: str, *, after: int = 0) -> Iterator[StreamEvent]:
        """Yield the events of a job with numbers above `after` as they happen, up to its result.

        A broken stream is taken up again where it stopped; only when the host stays away for
        several attempts in a row is it Unreachable.
        """
        stream = Resumption(after)
        while not stream.ended:
            try:
                yield from self._connection(job_id, stream)
                stream.note_end()
                trouble = "the stream ended before the result"
            except httpx.RequestError as error:
                trouble = _trouble(error)
            if not stream.ended:
                delay_s = stream.retry_delay_s()
                if delay_s is None:
                    raise Unreachable(
                        f"the events of job {printable(job_id)} cannot be read from {self.url} any "
                        f"more: {trouble}"
                    )
                self._pause(delay_s)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _connection(self, job_id: str, stream: Resumption) -> Iterator[StreamEvent]:
        timeout = httpx.Timeout(self._timeout_s, read=QUIET_S_MAX)
        path = calls.job_path(job_id, "/events")
        with connect_sse(
            self._http, "GET", path, headers=stream.headers, timeout=timeout
        ) as source:
            if source.response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                return  # A host that stops or starts: it, or the next one, will answer again.
            if source.response.is_error:
                raise _refusal(source.response, self._body(source.response))
            try:
                for sse in source.iter_sse():
                    event = stream.take(sse.id, sse.event, sse.data)
                    if event is not None:
                        yield event
                    if stream.ended:
                        return
            except (SSEError, ValueError) as error:
                raise self._no_host(str(error)) from None

    def _do(self, call: Call[T]) -> T:
        content = None if call.body is None else dump_json(call.body)
        try:
            with self._http.stream(
                call.method,
                call.path,
                params=dict(call.query),
                content=content,
                headers={} if content is None else {"Content-Type": "application/json"},
                timeout=self._timeout_s + call.waits_s,
            ) as response:
                body = self._body(response)
        except httpx.RequestError as error:
            raise Unreachable(
                f"no host answers at {self.url}: {_trouble(error)}; start one with "
                "`cuttlebone serve`, or give its address with --url or CUTTLEBONE_URL"
            ) from None
        if not response.is_success:
            raise _refusal(response, body)
        try:
            return call.read(body)
        except ValueError:
            raise self._no_host("the answer is not what the API says") from None

    def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > ANSWER_BYTES_MAX:
                raise self._no_host(f"an answer has more than {ANSWER_BYTES_MAX} bytes")
        return bytes(body)

    def _no_host(self, reason: str) -> Unreachable:
        return Unreachable(
            f"what answers at {self.url} is not a Cuttlebone host of this version: {reason}"
        )


def _refusal(response: httpx.Response, body: bytes) -> Refused:
    return refusal(response.status_code, body, retry_after=response.headers.get("retry-after"))


def _trouble(error: httpx.RequestError) -> str:
    return printable(str(error)) or type(error).__name__
