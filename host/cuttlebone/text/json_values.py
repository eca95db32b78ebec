"""Plain JSON values as Python has them: what counts as one, where its fault is, when two are the same, how it is shown."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from cuttlebone.errors import OperatorError
from cuttlebone.text import printable
from cuttlebone_abi.walking import Location, walk

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Any JSON value. Floats may be infinite or NaN: YAML can write them, and rules refuse them."""

Path: TypeAlias = Location
"""Keys and indices that lead from the top of a document to a place in it."""

DEPTH_MAX: Final = 64
"""Nesting of lists and objects."""
VALUES_MAX: Final = 1 << 20
"""Values in one document, counted with repetition where one stands at several places."""
INTEGER_DIGITS_MAX: Final = 900
"""Decimal digits of an integer; longer ones are refused before Python would have to multiply them out."""
INTEGER_BITS_MAX: Final = 3300
"""Some 993 decimal digits: no more can be written by accident, and all of them can be printed."""
_SHOWN_CHARS: Final = 80


class MalformedDocument(OperatorError):
    """Text that is neither YAML 1.2 nor JSON, or that no document may hold; the message says where."""


@dataclass(frozen=True, slots=True)
class ValueFault:
    """The first thing that makes a value no JSON, or more than a document may hold."""

    path: Path
    reason: str


def value_fault(value: object, *, depth_max: int = DEPTH_MAX) -> ValueFault | None:
    """Look for what is no JSON in a value: foreign types, keys that are no text, lone surrogates.

    A value that holds itself is found by its depth. Floats are not judged.
    """
    for seen, (item, path) in enumerate(walk(value), start=1):
        reason = f"the document holds more than {VALUES_MAX} values" if seen > VALUES_MAX else None
        reason = reason or _fault_of_one(item, len(path), depth_max)
        if reason is not None:
            return ValueFault(path, reason)
    return None


def pointer(path: Iterable[str | int]) -> str:
    """Spell a path as a JSON Pointer (RFC 6901): `("engines", 0, "a/b")` is `/engines/0/a~1b`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def json_equal(one: Json, other: Json) -> bool:
    """Tell whether two JSON values are the same: 1 is 1.0, but 0 is not false, and NaN is nothing."""
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case dict(), dict():
            return one.keys() == other.keys() and all(
                json_equal(item, other[key]) for key, item in one.items()
            )
        case list(), list():
            return len(one) == len(other) and all(map(json_equal, one, other))
        case _:
            return one == other


def shown(value: object) -> str:
    """Write a value for a message: short, on one line, whatever it is."""
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            return f'"{printable(value, chars_max=_SHOWN_CHARS)}"'
        case int() if value.bit_length() > 256:
            return f"an integer of {value.bit_length()} bits"
        case int() | float():
            return str(value)
        case list() | dict():
            name = "list" if isinstance(value, list) else "object"
            return f"{'an' if name == 'object' else 'a'} {name}" if value else f"an empty {name}"
        case _:
            return f"a {type(value).__name__}"


def is_text(value: str) -> bool:
    """Tell whether a string is Unicode text: no surrogate stands in it alone."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault_of_one(item: object, depth: int, depth_max: int) -> str | None:
    match item:
        case dict() | list() if depth >= depth_max:
            return f"nests deeper than {depth_max} levels"
        case dict():
            return next((fault for fault in map(_key_fault, item) if fault), None)
        case int() if item.bit_length() > INTEGER_BITS_MAX:
            return f"an integer of {item.bit_length()} bits; at most {INTEGER_BITS_MAX} are read"
        case str():
            return None if is_text(item) else "text with a lone surrogate, which is no Unicode text"
        case None | bool() | int() | float() | list():
            return None
        case _:
            return f"a {type(item).__name__}, which is no JSON value"


def _key_fault(key: object) -> str | None:
    if not isinstance(key, str):
        return f"a key that is {shown(key)}; keys are text"
    return None if is_text(key) else f"the key {shown(key)} has a lone surrogate"
