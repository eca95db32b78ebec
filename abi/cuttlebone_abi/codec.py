"""Bytes to types and back: the only place where messages of the contract are parsed.

Python values are exact: integers of up to 4 300 digits survive, NaN and infinities are refused,
and so is text that is not UTF-8. When an object repeats a key, the last one counts.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json, to_json

from cuttlebone_abi.commands import Command
from cuttlebone_abi.envelope import Envelope
from cuttlebone_abi.events import Event
from cuttlebone_abi.faults import requirement
from cuttlebone_abi.scalars import Json
from cuttlebone_abi.walking import walk

JSON_DEPTH_MAX: Final = 128
"""Nesting of arrays and objects that a message may have."""
JSON_NODES_MAX: Final = 100_000
"""Arrays and objects of a command: each costs as much as dozens of bytes of text, in one piece."""
COMMAND_BYTES_MAX: Final = 1 << 20
INTEGER_DIGITS_MAX: Final = 4_300
"""Decimal digits of an integer: more are slow to read, and Python's own text of them ends there too."""

T = TypeVar("T")

_COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(Command)
_EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Event)
_ENVELOPE: Final[TypeAdapter[Envelope]] = TypeAdapter(Envelope)

_TOO_LONG: Final = "number out of range"
"""How the parser begins to say that an integer has more digits than it reads."""
_LONG_LIST: Final = 8
"""Elements from which on it pays to ask for all of a list together before asking for each."""
_TO_BE_LOOKED_AT: Final = frozenset({dict, list, float})

# Also one that does not end, and without going back: so that no text takes longer than its length.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NEGATIVE_ZERO: Final = re.compile(rb'("(?:[^"\\]|\\.)*")|(?<![eE])-0(?![0-9.eE])', re.DOTALL)

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SHOWN_CHARS_MAX: Final = 64


class MalformedMessage(ValueError):
    """Bytes that are no message of the contract.

    `path` is the JSON path of the fault (`$.handle`), `reason` says what is wrong there.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class OversizedMessage(MalformedMessage):
    """A message that passes a bound: `limit` names it, `value` is what it allows.

    `command_bytes`, `json_depth`, `json_nodes` or `json_digits`.
    """

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
        if (reason := str(error)).startswith(_TOO_LONG):
            raise _too_many_digits(reason.removeprefix(_TOO_LONG)) from None
        raise MalformedMessage("$", f"not valid JSON: {error}") from None
    # One byte is found at memory speed, two are not, and most texts have no minus at all.
    if b"-" in data and b"-0" in data:
        value = _with_negative_zeros(value, data)
    if not _is_sound(value, depth_max):
        _refuse(value, depth_max)
    return value


def dump_json(value: Json | BaseModel) -> bytes:
    """Write a JSON value or a model of this package as compact UTF-8."""
    return to_json(value)


def decode_command(
    data: bytes,
    *,
    bytes_max: int = COMMAND_BYTES_MAX,
    depth_max: int = JSON_DEPTH_MAX,
    nodes_max: int = JSON_NODES_MAX,
) -> Command:
    """Read what a guest returned; raise MalformedMessage with the JSON path of the first fault."""
    _check_size(data, bytes_max, nodes_max)
    return _decode(_COMMAND, data, depth_max)


def decode_event(data: bytes) -> Event:
    """Read what a host answered; raise MalformedMessage."""
    return _decode(_EVENT, data, JSON_DEPTH_MAX)


def decode_envelope(data: bytes) -> Envelope:
    """Read an envelope; raise MalformedMessage."""
    return _decode(_ENVELOPE, data, JSON_DEPTH_MAX)


def json_path(location: tuple[int | str, ...]) -> str:
    """Spell a location inside a JSON value: `("messages", 0, "role")` is `$.messages[0].role`.

    A key that is no plain name is quoted and escaped, `$["a b"]`, and a long one is cut.
    """
    return "$" + "".join(_step(part) for part in location)


def _step(part: int | str) -> str:
    if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
        return f".{part}"
    return f"[{part if isinstance(part, int) else json.dumps(_cut(part))}]"


def _cut(text: str) -> str:
    """As much of a guest's text as a message may show."""
    return text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "..."


def _check_size(data: bytes, bytes_max: int, nodes_max: int) -> None:
    if len(data) > bytes_max:
        raise OversizedMessage(
            "command_bytes", bytes_max, f"{len(data)} bytes, but at most {bytes_max} are allowed"
        )
    # Brackets in strings are none; but strings are left out only where it makes a difference.
    if _brackets(data) > nodes_max and _brackets(_STRING.sub(b"", data)) > nodes_max:
        raise OversizedMessage(
            "json_nodes", nodes_max, f"it has more than {nodes_max} arrays and objects"
        )


def _brackets(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{")


def _decode(adapter: TypeAdapter[T], data: bytes, depth_max: int) -> T:
    value = load_json(data, depth_max=depth_max)
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _malformed(error.errors(include_url=False)[0], value) from None


def _malformed(fault: ErrorDetails, value: Json) -> MalformedMessage:
    place = _place(fault["loc"], value)
    match fault["type"]:
        case "union_tag_invalid" | "union_tag_not_found":
            context = fault["ctx"]
            tag = context["discriminator"].strip("'")
            return MalformedMessage(
                json_path((*place, tag)), _tag_fault(fault["input"], tag, context)
            )
        case "missing":
            reason = f"this field {requirement(fault)}"
        case "extra_forbidden":
            reason = "there is no such field"
        case _:
            reason = requirement(fault)
    return MalformedMessage(json_path(place), reason)


def _tag_fault(message: Json, tag: str, context: dict[str, str]) -> str:
    if tag not in message:
        return "missing: every message needs this field"
    if not isinstance(message[tag], str):
        return "should be a string"
    return f"unknown {tag} {_cut(message[tag])!r}; known are {context['expected_tags']}"


def _place(location: tuple[int | str, ...], value: Json) -> tuple[int | str, ...]:
    """Where in `value` a fault is. pydantic's location also has the tags that chose a model."""
    place: list[int | str] = []
    for part in location[1:-1]:
        match value:
            case dict() if part in value:
                value = value[part]
            case list() if isinstance(part, int):
                value = value[part]
            case _:
                continue
        place.append(part)
    return (*place, *location[1:][-1:])


def _too_deep(depth_max: int) -> OversizedMessage:
    return OversizedMessage("json_depth", depth_max, f"nests deeper than {depth_max} levels")


def _too_many_digits(where: str) -> OversizedMessage:
    return OversizedMessage(
        "json_digits",
        INTEGER_DIGITS_MAX,
        f"an integer has more than {INTEGER_DIGITS_MAX} digits{where}",
    )


def _with_negative_zeros(value: Json, data: bytes) -> Json:
    """Read `-0` as a float: as an integer it would lose its sign."""
    signed = _NEGATIVE_ZERO.sub(lambda match: match[1] or b"-0.0", data)
    return value if len(signed) == len(data) else from_json(signed, allow_inf_nan=False)


def _is_sound(value: Json, depth_max: int) -> bool:
    """Whether `value` nests at most `depth_max` levels, which bounds the recursion, and is finite.

    It looks at values and not at the text: the parser reads a long text at several gigabytes a
    second, and no search for long numbers keeps up with that. By the exact types that the parser
    makes, and by texts first, as every message comes by here.
    """
    children: Iterable[Json]
    if type(value) is dict:
        children = value.values()
    elif type(value) is not list:
        return type(value) is not float or math.isfinite(value)
    elif len(value) >= _LONG_LIST and depth_max > 0 and _is_plain(value):
        return True
    else:
        children = value
    if depth_max == 0:
        return False
    for child in children:
        kind = type(child)
        if kind is str or kind is int:
            continue
        if kind in _TO_BE_LOOKED_AT and not _is_sound(child, depth_max - 1):
            return False
    return True


def _is_plain(elements: list[Json]) -> bool:
    """Whether a list has finite numbers only, or neither floats nor containers; False: ask for each.

    One infinite number makes the sum infinite, whatever the others are.
    """
    if type(elements[0]) not in {int, float}:
        return _TO_BE_LOOKED_AT.isdisjoint(map(type, elements))
    try:
        total = sum(elements)
    except (TypeError, OverflowError):
        return False
    return type(total) is int or math.isfinite(total)


def _refuse(value: Json, depth_max: int) -> None:
    """Raise MalformedMessage with the path of what is too deep or not finite."""
    for item, location in walk(value):
        match item:
            case dict() | list() if len(location) >= depth_max:
                raise _too_deep(depth_max)
            case float() if math.isinf(item):
                raise MalformedMessage(json_path(location), "number too large for a 64-bit float")
