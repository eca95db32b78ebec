"""Request bodies: received within their limits, parsed exactly, checked with a pointer to each fault."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import ClientDisconnect

from cuttlebone.api.app_state import state_of
from cuttlebone.api.connection_limits import TransferLimits
from cuttlebone.errors import CallerError, FieldFault, ProblemCode
from cuttlebone.job_options import Limits
from cuttlebone.text import printable
from cuttlebone.text.fault_lists import FAULTS_SHOWN_MAX, and_more, first_faults
from cuttlebone.text.json_values import pointer
from cuttlebone.text.suggestions import suggestion
from cuttlebone_abi import Json, MalformedMessage, OversizedMessage, load_json
from cuttlebone_abi.faults import requirement

_MEDIA_TYPE: Final = "application/json"
LINES_MEDIA_TYPE: Final = "application/x-ndjson"

T = TypeVar("T", bound=BaseModel)


async def receive_json(request: Request, *, bytes_max: int) -> bytes:
    """Take in a JSON body, never holding more than `bytes_max` of it; raise CallerError.

    Not the framework's own limit: that one answers in plain text.
    """
    check_media_type(request, _MEDIA_TYPE)
    too_large = body_too_large("a body", bytes_max)
    return await _receive(request, bytes_max=bytes_max, too_large=too_large)


async def receive_lines(request: Request, *, bytes_max: int) -> list[bytes]:
    """Take in a body of lines of JSON, as `receive_json` does one value."""
    check_media_type(request, LINES_MEDIA_TYPE)
    too_large = CallerError(
        ProblemCode.BODY_TOO_LARGE,
        f"a batch has at most {bytes_max} bytes (`batch_body_bytes_max`); send several",
    )
    body = await _receive(request, bytes_max=bytes_max, too_large=too_large)
    return body.removesuffix(b"\n").split(b"\n") if body else []


def body_too_large(what: str, bytes_max: int) -> CallerError:
    """The refusal of a submission that is too long."""
    return CallerError(
        ProblemCode.BODY_TOO_LARGE,
        f"{what} has at most {bytes_max} bytes (`body_bytes_max`); "
        "give the path of a file instead of its content",
    )


async def _receive(request: Request, *, bytes_max: int, too_large: CallerError) -> bytes:
    if bytes_announced(request) > bytes_max:
        raise too_large
    received = bytearray()
    async for chunk in body_parts(request):
        received += chunk
        if len(received) > bytes_max:
            raise too_large
    return bytes(received)


async def body_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in parts; raise CallerError `body_timeout` if it stands still or only trickles.

    Only the time counts in which the host waits for the client: what the host itself takes for a
    part, as a busy disk does, is nobody's fault out there. It raises ClientDisconnect as well.
    """
    transfer = state_of(request.app).limits.transfer
    clock = asyncio.get_running_loop().time
    received, waited_s, more = 0, 0.0, True
    # Not the stream of the framework, which asks twice more at the end: each wait has its price.
    while more:
        left_s = transfer.stall_s + received / transfer.bytes_per_s - waited_s
        began_s = clock()
        try:
            async with asyncio.timeout(min(left_s, transfer.stall_s)):
                message = await request.receive()
        except TimeoutError:
            raise _too_slow(transfer, received, clock() - began_s) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        waited_s += clock() - began_s
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        received += len(part)
        if part:
            yield part


def _too_slow(transfer: TransferLimits, received: int, stood_still_s: float) -> CallerError:
    return CallerError(
        ProblemCode.BODY_TIMEOUT,
        f"after {received} bytes of the body nothing came for {stood_still_s:.1f} s; a body may not "
        f"stand still for {transfer.stall_s:g} s (`stall_timeout_s`), and has to come with at least "
        f"{transfer.bytes_per_s} bytes a second on average once the host has waited that long in all",
    )


def check_media_type(request: Request, media_type: str) -> None:
    """Refuse a body that is encoded, or of another type, with CallerError `unsupported_media_type`."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != media_type:
        raise CallerError(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            f"send the body as `Content-Type: {media_type}`, not as {printable(stated)!r}",
        )
    if "content-encoding" in request.headers:
        raise CallerError(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE, "send the body without a `Content-Encoding`"
        )


def bytes_announced(request: Request) -> int:
    """How long a body says that it is; 0 if it does not.

    It only saves the trouble of receiving one that is too long: what comes has to be counted.
    """
    stated = request.headers.get("content-length", "")
    return int(stated) if stated.isdecimal() else 0


def parse_body(model: type[T], data: bytes) -> T:
    """Parse and check a body; raise CallerError.

    `malformed_json`, `limit_exceeded` in the words in which a command is refused, or `invalid_body`.
    """
    try:
        value = load_json(data)
    except OversizedMessage as error:
        message = f"{error.limit}: {error.reason}"
        raise CallerError(ProblemCode.LIMIT_EXCEEDED, message) from None
    except MalformedMessage as error:
        raise CallerError(ProblemCode.MALFORMED_JSON, error.reason) from None
    cut, left_out = _without_many_unknown(model, value)
    try:
        return model.model_validate(cut)
    except ValidationError as error:
        shown, more = first_faults(error.errors(include_url=False))
    faults = [_fault(model, one) for one in shown]
    more += left_out
    first, total = faults[0], len(faults) + more
    if more:
        faults.append(FieldFault("", and_more(more)))
    raise CallerError(
        ProblemCode.INVALID_BODY,
        f"{first.pointer or 'the body'}: {first.message}"
        + (f" (and {total - 1} more)" if total > 1 else ""),
        faults=tuple(faults),
    )


def _without_many_unknown(model: type[BaseModel], value: Json) -> tuple[Json, int]:
    """Leave out unknown keys beyond those that are told of; return how many.

    Each would become a record of several hundred bytes, and be compared with all that are known.
    """
    if not isinstance(value, dict):
        return value, 0
    cut, left_out = _few_unknown(model, value)
    limits = cut.get("limits")
    if isinstance(limits, dict):
        cut["limits"], more = _few_unknown(Limits, limits)
        left_out += more
    return cut, left_out


def _few_unknown(model: type[BaseModel], value: dict[str, Json]) -> tuple[dict[str, Json], int]:
    unknown = [key for key in value if key not in model.model_fields]
    left_out = set(unknown[FAULTS_SHOWN_MAX:])
    return {key: child for key, child in value.items() if key not in left_out}, len(left_out)


def _fault(model: type[BaseModel], fault: ErrorDetails) -> FieldFault:
    # A key of an object that breaks a rule is marked with one more part, which is no key.
    location = tuple(part for part in fault["loc"] if part != "[key]")
    match fault["type"]:
        case "extra_forbidden":
            message = f"unknown key{_suggestion(model, location)}"
        case "missing":
            message = f"this key {requirement(fault)}"
        case _:
            message = requirement(fault)
    return FieldFault(printable(pointer(location)), message)


def _suggestion(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    known = Limits if location[0] == "limits" and len(location) > 1 else model
    return suggestion(str(location[-1]), known.model_fields)
