"""Documents from their text: YAML 1.2 or JSON, one value, no key twice, nothing guessed."""

import json
from typing import Final, NoReturn

from cuttlebone.text.json_values import (
    DEPTH_MAX,
    INTEGER_DIGITS_MAX,
    Json,
    MalformedDocument,
    pointer,
    shown,
    value_fault,
)
from cuttlebone.text.yaml_core import value_of
from cuttlebone.text.yaml_nodes import compose

DOCUMENT_BYTES_MAX: Final = 1 << 20

__all__ = ["DOCUMENT_BYTES_MAX", "MalformedDocument", "decoded", "read_document", "read_json"]


def decoded(data: bytes, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> str:
    """Give the text of a file, less a byte order mark; raise MalformedDocument."""
    if len(data) > bytes_max:
        raise MalformedDocument(f"more than {bytes_max} bytes, which is the most that is read")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise MalformedDocument(f"not UTF-8: {error.reason} at byte {error.start}") from None


def read_document(data: bytes) -> Json:
    """Read YAML 1.2 or JSON; raise MalformedDocument, which says where.

    What begins like a JSON object or list and is JSON counts as JSON: escapes of surrogate pairs
    and control characters mean something else in YAML. Everything else is YAML.
    """
    text = decoded(data)
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return read_json(text)
        except _NotJson:
            pass
    return value_of(compose(text))


def read_json(text: str) -> Json:
    """Read one JSON text; raise MalformedDocument. Integers are exact, of up to 900 digits."""
    try:
        value: Json = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_constant=_not_json
        )
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise _NotJson(f"{at}: not JSON: {error.msg}") from None
    except RecursionError:
        raise MalformedDocument(f"nests deeper than {DEPTH_MAX} levels") from None
    if (fault := value_fault(value)) is not None:
        raise MalformedDocument(f"{pointer(fault.path) or 'the document'}: {fault.reason}")
    return value


class _NotJson(MalformedDocument):
    """Text that breaks the grammar of JSON, so that it may still be YAML."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for key, value in pairs:
        if key in members:
            raise MalformedDocument(f"the key {shown(key)} stands twice in one object")
        members[key] = value
    return members


def _integer(digits: str) -> int:
    if len(digits) > INTEGER_DIGITS_MAX:
        raise MalformedDocument(
            f"an integer of {len(digits)} digits; at most {INTEGER_DIGITS_MAX} are read"
        )
    return int(digits)


def _not_json(name: str) -> NoReturn:
    raise _NotJson(f"{name} is no JSON number")
