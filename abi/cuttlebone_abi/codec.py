"""Bytes to types and back: the only place where messages of the contract are parsed.

Python values are exact: integers of any size survive, NaN and infinities are refused, and so
is text that is not UTF-8. When an object repeats a key, the last one counts.
"""

import math
import re
from typing import Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json, to_json

from cuttlebone_abi.commands import Command
from cuttlebone_abi.envelope import Envelope
from cuttlebone_abi.events import Event
from cuttlebone_abi.scalars import Json

JSON_DEPTH_MAX: Final = 128
"""Nesting of arrays and objects that a message may have."""
COMMAND_BYTES_MAX: Final = 1 << 20

T = TypeVar("T")

_COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(Command)
_EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Event)
_ENVELOPE: Final[TypeAdapter[Envelope]] = TypeAdapter(Envelope)

# A number that reads as infinity has a three-digit exponent or some 300 digits.
_MAYBE_INFINITE: Final = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{300}")


class MalformedMessage(ValueError):
    """Bytes that are no message of the contract.

    `path` is the JSON path of the fault (`$.handle`), `reason` says what is wrong there.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class OversizedMessage(MalformedMessage):
    """A message that passes a bound: `limit` is `command_bytes` or `json_depth`, `value` its bound."""

    def __init__(self, limit: str, value: int, reason: str) -> None:
        super().__init__("$", reason)
        self.limit = limit
        self.value = value


def load_json(data: bytes, *, depth_max: int = JSON_DEPTH_MAX) -> Json:
    """Parse one JSON text; raise MalformedMessage if it is not one or nests deeper than `depth_max`."""
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep(depth_max) from None
        raise MalformedMessage("$", f"not valid JSON: {error}") from None
    # Only a text with that many brackets, or with such a number, has to be walked in Python.
    if data.count(b"[") + data.count(b"{") > depth_max or _MAYBE_INFINITE.search(data):
        _walk(value, depth_max)
    return value


def dump_json(value: Json | BaseModel) -> bytes:
    """Write a JSON value or a model of this package as compact UTF-8."""
    return to_json(value)


def decode_command(
    data: bytes, *, bytes_max: int = COMMAND_BYTES_MAX, depth_max: int = JSON_DEPTH_MAX
) -> Command:
    """Read what a guest returned; raise MalformedMessage with the JSON path of the first fault."""
    return _decode(_COMMAND, data, "cmd", bytes_max, depth_max)


def decode_event(data: bytes) -> Event:
    """Read what a host answered; raise MalformedMessage."""
    return _decode(_EVENT, data, "event", COMMAND_BYTES_MAX * 8, JSON_DEPTH_MAX)


def decode_envelope(data: bytes) -> Envelope:
    """Read an envelope; raise MalformedMessage."""
    return _decode(_ENVELOPE, data, "status", COMMAND_BYTES_MAX * 8, JSON_DEPTH_MAX)


def json_path(location: tuple[int | str, ...]) -> str:
    """Spell a location inside a JSON value: `("messages", 0, "role")` is `$.messages[0].role`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


def _decode(adapter: TypeAdapter[T], data: bytes, tag: str, bytes_max: int, depth_max: int) -> T:
    if len(data) > bytes_max:
        raise OversizedMessage(
            "command_bytes", bytes_max, f"{len(data)} bytes, but at most {bytes_max} are allowed"
        )
    value = load_json(data, depth_max=depth_max)
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _malformed(error.errors(include_url=False, include_input=False)[0], tag) from None


def _malformed(fault: ErrorDetails, tag: str) -> MalformedMessage:
    match fault["type"]:
        case "union_tag_invalid":
            context = fault["ctx"]
            return MalformedMessage(
                f"$.{tag}",
                f"unknown {tag} {context['tag']!r}; known are {context['expected_tags']}",
            )
        case "union_tag_not_found":
            return MalformedMessage(f"$.{tag}", "missing: every message needs this field")
        case "value_error":
            reason = fault["msg"].removeprefix("Value error, ")
        case "missing":
            reason = "this field is required and missing"
        case _:
            reason = fault["msg"].replace("Input should", "should")
    # The first part of the location is the tag that chose the model; it is no part of the value.
    return MalformedMessage(json_path(fault["loc"][1:]), reason)


def _too_deep(depth_max: int) -> OversizedMessage:
    return OversizedMessage("json_depth", depth_max, f"nests deeper than {depth_max} levels")


def _walk(value: Json, depth_max: int) -> None:
    """Check depth and finiteness without recursion, so that no nesting exhausts the stack."""
    pending: list[tuple[Json, tuple[int | str, ...]]] = [(value, ())]
    while pending:
        item, location = pending.pop()
        match item:
            case dict() | list() if len(location) >= depth_max:
                raise _too_deep(depth_max)
            case dict():
                pending.extend((child, (*location, key)) for key, child in item.items())
            case list():
                pending.extend((child, (*location, at)) for at, child in enumerate(item))
            case float() if math.isinf(item):
                raise MalformedMessage(json_path(location), "number too large for a 64-bit float")
