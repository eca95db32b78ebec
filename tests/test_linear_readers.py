"""Whatever reads what strangers wrote takes time by its length: twice as long a text, twice the time.

What its library does not promise that of runs in a locked process, under a bound of its own.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest

from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.errors import CallerError, CommandError, OperatorError
from cuttlebone.files.paths import UnusablePath, check_text, resolve
from cuttlebone.files.patterns import Wildcards, parse_pattern
from cuttlebone.generation.request import Grammar, JsonSchema
from cuttlebone.inference.constraint_reading import is_lark
from cuttlebone.inference.constraints import check_grammar, check_schema
from cuttlebone.inference.schema_keeping import is_bounded, kept_schema
from cuttlebone.text import printable
from cuttlebone.text.addresses import address
from cuttlebone.text.documents import MalformedDocument, read_document
from cuttlebone_abi import InvalidSignature, Json, MalformedMessage, load_json
from cuttlebone_abi.signatures import parse_type
from doubling import assert_linear

REFUSALS: Final = (
    CallerError,
    CommandError,
    InvalidSignature,
    MalformedDocument,
    MalformedMessage,
    OperatorError,
    UnusablePath,
)
UNITS: Final = (
    "\n",
    "a",
    " ",
    "\t\n",
    '"',
    "\\",
    '\\"',
    "[",
    "[],",
    "a: ",
    "a:\n",
    "- ",
    "9",
    "-0,",
    "{a:",
    "%",
    "é",
    "*",
)
"""What texts are made of, over and over. Nearly all of them are refused: that has to be quick as well."""


READERS: Final[dict[str, Callable[[str], object]]] = {
    "kind of grammar": is_lark,
    "bounds of grammar": lambda text: check_grammar(Grammar(text[: 64 << 10])),
    "message": lambda text: load_json(text.encode()),
    "message that is whole": lambda text: load_json(
        b'["' + text.encode().replace(b'"', b"") + b'"]'
    ),
    "path": lambda text: read_path(text[:4096]),
    "shown text": lambda text: printable(text, chars_max=len(text)),
    "address": address,
    "pattern": lambda text: parse_pattern(text[:4096], ()),
    "callback": lambda text: CallbackPolicy(["a"]).target("https://a/" + text),
}


def repeated(unit: str) -> Callable[[int], str]:
    """Makes texts of a length."""
    return lambda size: (unit * size)[:size]


def refusing(read: Callable[[str], object]) -> Callable[[str], None]:
    """A reader of texts that may be refused."""

    def reading(text: str) -> None:
        with suppress(*REFUSALS):
            read(text)

    return reading


def read_path(text: str) -> None:
    """Check a path and resolve it."""
    check_text(text)
    resolve(text, ())


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("reader", READERS)
def test_reading_takes_time_by_the_length_of_a_text(reader: str, unit: str) -> None:
    assert_linear(refusing(READERS[reader]), repeated(unit), size_max=1 << 17)


@pytest.mark.parametrize("unit", UNITS)
def test_reading_a_document_takes_time_by_its_length(unit: str) -> None:
    def read(text: str) -> object:
        return read_document(text.encode())

    assert_linear(refusing(read), repeated(unit), size_max=1 << 16)


@pytest.mark.parametrize("unit", ["{a:", "[", "{a:text},", "a", " ", "{", "{a:text,b:"])
def test_reading_a_type_takes_time_by_its_length(unit: str) -> None:
    assert_linear(refusing(parse_type), repeated(unit), size_max=1 << 15)


@pytest.mark.parametrize("parts", [("*",) * 16, ("**", "a") * 8, ("*a" * 60,), ("?*" * 60,)])
def test_matching_a_name_takes_time_by_its_length(parts: tuple[str, ...]) -> None:
    pattern = Wildcards.compile(parts)

    assert_linear(pattern.locate, lambda size: ("a" * 127 + "b",) * size, size=16, size_max=16)
    assert_linear(pattern.locate, lambda size: ("a" * size,), size=16, size_max=128)


@pytest.mark.parametrize(
    "of",
    [
        lambda size: {"enum": list(range(size))},
        lambda size: {"properties": {str(at): {"$ref": "#/$defs/a"} for at in range(size)}},
        lambda size: {"$defs": {str(at): {"$ref": f"#/$defs/{at + 1}"} for at in range(size)}},
    ],
    ids=["values", "references", "chain"],
)
def test_looking_through_a_schema_takes_time_by_its_size(of: Callable[[int], object]) -> None:
    def look(schema: Json) -> None:
        check_schema(JsonSchema(schema))
        kept_schema(schema)
        is_bounded(schema)

    assert_linear(look, of, size=100, size_max=200)
