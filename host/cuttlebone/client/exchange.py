"""What both kinds of client do around the network: make requests of calls, read answers, name trouble."""

from dataclasses import dataclass
from typing import Final, TypeVar

import httpx

from cuttlebone.client.api_calls import Call
from cuttlebone.client.host_address import Address
from cuttlebone.client.refusal import NoHost, Refused, Unreachable, refusal
from cuttlebone.text import printable
from cuttlebone_abi import dump_json

T = TypeVar("T")

TIMEOUT_S: Final = 30.0
QUIET_S_MAX: Final = 45.0
"""Silence after which a stream counts as broken; the host sends something every 15 seconds."""
EVENT_BYTES_MAX: Final = 64 << 20
PAUSES_S: Final = (0.2, 1.0)
"""Before a call is repeated whose connection broke, if that does no harm."""
BROKEN: Final = (
    httpx.ReadError,
    httpx.WriteError,
    httpx.CloseError,
    httpx.RemoteProtocolError,
)
"""A connection that was there, and then was not: whether the host did what was asked is unknown."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests and answers of one client. Immutable."""

    address: Address
    timeout_s: float

    def request(self, http: httpx.Client | httpx.AsyncClient, call: Call[T]) -> httpx.Request:
        """Make the request of a call."""
        content = call.content if call.body is None else dump_json(call.body)
        typed = {} if call.body is None else {"Content-Type": "application/json"}
        return http.build_request(
            call.method,
            call.path,
            params=dict(call.query),
            content=content,
            headers={**typed, **call.headers},
            timeout=self.timeout_s + call.waits_s,
        )

    def stream_request(
        self, http: httpx.Client | httpx.AsyncClient, path: str, headers: dict[str, str]
    ) -> httpx.Request:
        """Make a request for a stream of events, the large ones as links."""
        return http.build_request(
            "GET",
            path,
            params={"large": "link"},
            headers={**headers, "Accept": "text/event-stream", "Cache-Control": "no-store"},
            timeout=httpx.Timeout(self.timeout_s, read=QUIET_S_MAX),
        )

    def pauses_s(self, call: Call[T]) -> tuple[float | None, ...]:
        """The pauses after each attempt at a call; None: it is the last."""
        return (*PAUSES_S, None) if call.repeatable else (None,)

    def value(self, call: Call[T], response: httpx.Response, body: bytes) -> T:
        """Read an answer; raise Refused, or NoHost for one that no host would give."""
        if not response.is_success:
            raise self.refusal(response, body)
        try:
            return call.read(body)
        except ValueError:
            raise self.no_host("the answer is not what the API says") from None

    def refusal(self, response: httpx.Response, body: bytes) -> Refused:
        """Read an answer that refuses."""
        return refusal(response.status_code, body, retry_after=response.headers.get("retry-after"))

    def check_stream(self, response: httpx.Response) -> None:
        """Raise NoHost for a stream whose bytes would not be those that are counted."""
        if "content-encoding" in response.headers:
            raise self.no_host("a stream is compressed, which was not asked for")

    def added(self, body: bytearray, part: bytes, bytes_max: int) -> None:
        """Add a part of an answer; raise NoHost if it has become too large."""
        body += part
        if len(body) > bytes_max:
            raise self.no_host(f"an answer has more than {bytes_max} bytes")

    def unreachable(self, error: httpx.RequestError) -> Unreachable:
        """Say that there was no answer."""
        return Unreachable(
            f"no host answers at {printable(self.address.url)}: {trouble_of(error)}; start one with "
            "`cuttlebone serve`, or give its address with --url or CUTTLEBONE_URL"
        )

    def lost(self, job_id: str, trouble: str) -> Unreachable:
        """Say that a job cannot be followed any more."""
        return Unreachable(
            f"job {printable(job_id)} cannot be followed at {printable(self.address.url)} any more: "
            f"{trouble}"
        )

    def no_host(self, reason: str) -> NoHost:
        """Say that what answers is something else."""
        return NoHost(
            f"what answers at {printable(self.address.url)} is not a Cuttlebone host of this "
            f"version: {reason}"
        )


def trouble_of(error: httpx.RequestError) -> str:
    """What is wrong with a connection, in words."""
    return printable(str(error)) or type(error).__name__


class EventSizes:
    """Bounds the size of one event while it comes in. Owner: the reader of one stream.

    Invariant: no more than EVENT_BYTES_MAX bytes and one part have come since the last empty line,
    which ends an event.
    """

    def __init__(self) -> None:
        self._size = 0
        self._last = b""

    def check(self, part: bytes) -> None:
        """Count a part of the stream; raise ValueError if an event is too large."""
        joined = self._last + part
        end = joined.rfind(b"\n\n")
        self._size = len(joined) - end - 2 if end >= 0 else self._size + len(part)
        self._last = part[-1:]
        if self._size > EVENT_BYTES_MAX:
            raise ValueError(f"an event has more than {EVENT_BYTES_MAX} bytes")
