"""The program that reads what strangers demand of a text, schema or grammar, in a locked process.

Some that are short take for ever to compile, or exhaust the stack of a library: whatever happens, it
happens here first.
"""

import time
from contextlib import suppress
from enum import IntEnum
from struct import Struct
from typing import Final, assert_never

import llguidance

from cuttlebone.errors import CommandError
from cuttlebone.inference.constraint_reading import try_grammar, try_schema
from cuttlebone.inference.constraints import json_fault
from cuttlebone.locked_process.frames import NO_COUNTERS, Counters
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.text import printable
from cuttlebone_abi import Json, dump_json, load_json

ANSWER: Final = Struct("<QQ")
"""Microseconds of processor time: of reading all, and of that of reading the check of finished texts."""
_NESTING_MAX: Final = 256

_WARM_UP_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "pattern": "^[a-z]{2,5}\\w+(x|y){3}$"},
        "day": {"type": "string", "format": "date-time", "maxLength": 40},
        "number": {"type": "number", "minimum": 0.5, "maximum": 9, "multipleOf": 0.1},
        "list": {"type": "array", "items": {"enum": [1, "a", None, [{}]]}, "maxItems": 3},
        "any": {"anyOf": [{"const": True}, {"$ref": "#/$defs/a"}]},
    },
    "required": ["text"],
    "additionalProperties": False,
    "$defs": {"a": {"allOf": [{"type": "integer"}, {"minimum": 0}]}},
}
_WARM_UP_TEXT: Final = (
    b'{"text":"abbxyx","day":"2020-01-01T00:00:00Z","number":0.7,"list":[1,[{}]],"any":7}'
)
_WARM_UP_GRAMMARS: Final = (
    'start: "a" /b+/ C{2,5}\nC: /[a-z]{2}/ & /.*x/',
    'root ::= "a" [b]+ (c | "d"){2}\nc ::= [^x]',
    "start: a",
    "root ::= a",
    "root = ",
)


class ConstraintRequest(IntEnum):
    """What the host asks for.

    The content of the process is a grammar in UTF-8, or as JSON a list of a schema and what is kept of it.
    """

    READ_SCHEMA = 1
    """Reply: `ANSWER`."""
    READ_GRAMMAR = 2
    """Reply: `ANSWER`, then the grammar in Lark."""
    CHECK = 3
    """Whether a finished text, the payload, fits the schema. Reply: what is wrong with it, or nothing."""


def load() -> "ConstraintProgram":
    """Make the program, and read one constraint of each kind."""
    program = ConstraintProgram(llguidance.LLTokenizer("byte"))
    program.warm_up()
    return program


class ConstraintProgram:
    """Has an index of the tokens of no model: each byte is one. Immutable."""

    def __init__(self, tokenizer: llguidance.LLTokenizer) -> None:
        self._tokenizer = tokenizer

    def warm_up(self) -> None:
        """Go once every way that a constraint can go: libraries look around when first used."""
        session = self.open(b"", dump_json([_WARM_UP_SCHEMA, _WARM_UP_SCHEMA]))
        session.answer(ConstraintRequest.READ_SCHEMA, b"")
        for text in (_WARM_UP_TEXT, b"{}", b"["):
            session.answer(ConstraintRequest.CHECK, text)
        for grammar in _WARM_UP_GRAMMARS:
            with suppress(RequestFailed):
                self.open(b"", grammar.encode()).answer(ConstraintRequest.READ_GRAMMAR, b"")
        printable("\n")  # escapes need a codec, which is imported once they do

    def open(self, arguments: bytes, content: bytes) -> "ConstraintSession":  # noqa: ARG002  # it needs none
        """A session for the constraint `content`."""
        return ConstraintSession(self._tokenizer, content)


class ConstraintSession:
    """The one constraint of a locked process. Owned by its only thread."""

    def __init__(self, tokenizer: llguidance.LLTokenizer, constraint: bytes) -> None:
        self._tokenizer = tokenizer
        self._constraint = constraint

    def answer(self, request: int, payload: bytes) -> bytes:
        """Read the constraint, or check a text; raise RequestFailed with the reason in UTF-8."""
        try:
            match ConstraintRequest(request):
                case ConstraintRequest.READ_SCHEMA:
                    return self._read_schema()
                case ConstraintRequest.READ_GRAMMAR:
                    return self._read_grammar()
                case ConstraintRequest.CHECK:
                    schema, _ = load_json(self._constraint, depth_max=_NESTING_MAX)
                    return (json_fault(schema)(payload.decode()) or "").encode()
                case unknown:
                    assert_never(unknown)
        except CommandError as error:
            raise RequestFailed(error.message.encode(errors="replace")) from None

    @property
    def counters(self) -> Counters:
        """None of them is used."""
        return NO_COUNTERS

    def _read_schema(self) -> bytes:
        begun_ns = time.process_time_ns()
        schema, kept = load_json(self._constraint, depth_max=_NESTING_MAX)
        json_fault(schema)
        checking_ns = time.process_time_ns() - begun_ns
        try_schema(self._tokenizer, kept)
        return _costs(begun_ns, checking_ns)

    def _read_grammar(self) -> bytes:
        begun_ns = time.process_time_ns()
        lark = try_grammar(self._tokenizer, self._constraint.decode())
        return _costs(begun_ns, 0) + lark.encode()


def _costs(begun_ns: int, checking_ns: int) -> bytes:
    return ANSWER.pack((time.process_time_ns() - begun_ns) // 1000, checking_ns // 1000)
