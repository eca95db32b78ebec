"""A host that answers from a script, in place of the network."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import httpx

Answer = Callable[[httpx.Request], httpx.Response]


def refusal(code: str, detail: str = "no", *errors: dict[str, str]) -> dict[str, object]:
    """A problem document."""
    return {
        "type": f"urn:cuttlebone:problem:{code}",
        "title": "No",
        "status": 400,
        "detail": detail,
        "code": code,
        "instance": "/v1/jobs",
        "errors": errors,
    }


class _Parts(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes in parts, to either kind of client."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


class ScriptedHost:
    """Gives its answers in order and keeps the requests. Owned by one test."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        return self.answers.pop(0)(request)

    def will_answer(self, status: int = 200, json: object = None, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(lambda _: httpx.Response(status, json=json, headers=named))

    def will_send(self, text: str, content_type: str = "text/event-stream") -> None:
        self.answers.append(
            lambda _: httpx.Response(200, text=text, headers={"content-type": content_type})
        )

    def will_send_parts(self, *parts: bytes, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(
            lambda _: httpx.Response(
                200, stream=_Parts(parts), headers={"content-type": "text/event-stream", **named}
            )
        )

    def will_hang_up(self) -> None:
        """Take the request and close the connection."""

        def cut(request: httpx.Request) -> httpx.Response:
            raise httpx.RemoteProtocolError("server disconnected", request=request)

        self.answers.append(cut)

    def will_break(self) -> None:
        def broken(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("connection refused", request=request)

        self.answers.append(broken)
