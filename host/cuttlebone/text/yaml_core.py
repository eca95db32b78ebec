"""What the scalars of a YAML tree mean by the core schema of YAML 1.2, and nothing beyond it."""

import math
import re
from typing import Final

from cuttlebone.text.json_values import INTEGER_DIGITS_MAX, Json, MalformedDocument, shown
from cuttlebone.text.yaml_nodes import TAG_PREFIX, Mapping, Node, Scalar, Sequence

_NULL: Final = re.compile(r"null|Null|NULL|~|")
_TRUE: Final = re.compile(r"true|True|TRUE")
_FALSE: Final = re.compile(r"false|False|FALSE")
_INT: Final = re.compile(r"[-+]?[0-9]+")
_INT_OF_BASE: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
_NAN: Final = re.compile(r"\.(?:nan|NaN|NAN)")


def value_of(node: Node) -> Json:
    """Give the JSON value that a tree means by the core schema; raise MalformedDocument."""
    match node:
        case Scalar():
            return scalar_value(node)
        case Sequence():
            return [value_of(item) for item in node.items]
        case Mapping():
            return {key: value_of(item) for key, item in node.entries.items()}


def scalar_value(scalar: Scalar) -> bool | int | float | str | None:
    """Give the value that a scalar means by the core schema; raise MalformedDocument."""
    match scalar.tag:
        case None:
            return _core_value(scalar) if scalar.plain else scalar.text
        case "!" | "tag:yaml.org,2002:str":
            return scalar.text
        case _:
            return _tagged_value(scalar, scalar.tag.removeprefix(TAG_PREFIX))


def _core_value(scalar: Scalar) -> bool | int | float | str | None:
    text = scalar.text
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return _TRUE.fullmatch(text) is not None
    if _INT.fullmatch(text) or _INT_OF_BASE.fullmatch(text):
        return _integer(scalar)
    return text if (number := _float(text)) is None else number


def _integer(scalar: Scalar) -> int:
    if len(scalar.text) > INTEGER_DIGITS_MAX:
        reason = f"an integer of {len(scalar.text)} digits; at most {INTEGER_DIGITS_MAX} are read"
        raise MalformedDocument(f"line {scalar.line}: {reason}")
    base = {"0o": 8, "0x": 16}.get(scalar.text[:2], 10)
    return int(scalar.text[2:] if base != 10 else scalar.text, base)


def _float(text: str) -> float | None:
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan if _NAN.fullmatch(text) else None


def _tagged_value(scalar: Scalar, tag: str) -> bool | int | float | None:
    value = _core_value(scalar)
    if isinstance(value, str) or tag not in {"null", "bool", "int", "float"}:
        raise _not_tagged(scalar, tag)
    match tag, value:
        case ("null", None) | ("bool", bool()) | ("float", float()):
            return value
        case "int", int() if not isinstance(value, bool):
            return value
        case "float", int() if _INT.fullmatch(scalar.text):
            # Not float(value): an integer beyond the range of floats would raise OverflowError.
            return float(scalar.text)
        case _:
            raise _not_tagged(scalar, tag)


def _not_tagged(scalar: Scalar, tag: str) -> MalformedDocument:
    reason = f"{shown(scalar.text)} is no value of the tag {shown(tag)} in the core schema"
    return MalformedDocument(f"line {scalar.line}: {reason}")
