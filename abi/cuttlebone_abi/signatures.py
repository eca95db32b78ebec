"""Signatures: the types that a block declares for its input and its result.

`text`, `number`, `bool`, `bytes`, `image`, `document`, `json`, `[T]`, `{a: T, b: U}`. Records are
open. `json`, `bytes`, `image` and `document` accept any value at run time.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, UnexpectedToken, VisitError

from cuttlebone_abi.codec import MalformedMessage, json_path, load_json
from cuttlebone_abi.scalars import Json

SIGNATURE_BYTES_MAX: Final = 64 << 10
SIGNATURE_DEPTH_MAX: Final = 32
TYPE_CHARS_SHOWN_MAX: Final = 200
"""Of a type in a reason: it may have SIGNATURE_BYTES_MAX, and be missed in many places."""

_NAMES: Final = frozenset({"text", "number", "bool", "bytes", "image", "document", "json"})

_GRAMMAR: Final = r"""
    ?type: NAME                              -> scalar
         | "[" type "]"                      -> list_of
         | "{" [field ("," field)* [","]] "}" -> record
    field: FIELD ":" type
    FIELD.2: /[A-Za-z_][A-Za-z0-9_]*(?=\s*:)/
    NAME: /[A-Za-z_][A-Za-z0-9_]*/
    %import common.WS
    %ignore WS
"""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One of the seven named types."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[T]`."""

    item: "Type"

    def __str__(self) -> str:
        return f"[{self.item}]"


@dataclass(frozen=True, slots=True)
class Record:
    """`{a: T, b: U}`: every declared field is required, further ones are welcome."""

    fields: "tuple[tuple[str, Type], ...]"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {kind}" for name, kind in self.fields) + "}"


Type: TypeAlias = Scalar | ListOf | Record

ANY: Final = Scalar("json")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a block takes and gives. `json -> json` when a block does not say."""

    input: Type = ANY
    output: Type = ANY

    def __str__(self) -> str:
        return f"{self.input} -> {self.output}"


class InvalidSignature(ValueError):
    """A text that is not a type of the signature grammar; the message says where."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place where a value does not have its type. `location` leads to it from the root.

    A value may have many such places and the type may be long, so the reason is written when it is read.
    """

    location: tuple[int | str, ...]
    declared: Type
    found: str | None
    """What is there, in words; None if nothing is."""

    @property
    def reason(self) -> str:
        """What is wrong there, of bounded length."""
        declared = str(self.declared)
        if len(declared) > TYPE_CHARS_SHOWN_MAX:
            declared = declared[: TYPE_CHARS_SHOWN_MAX - 1] + "…"
        if self.found is None:
            return f"missing; the block declares it as {declared}"
        return f"should be {declared}, but is {self.found}"

    def __str__(self) -> str:
        return f"{json_path(self.location)}: {self.reason}"


def parse_type(text: str) -> Type:
    """Read one type; raise InvalidSignature."""
    if len(text.encode()) > SIGNATURE_BYTES_MAX:
        raise InvalidSignature(f"a type may have at most {SIGNATURE_BYTES_MAX} bytes")
    try:
        parsed: Type = _parser().parse(text)  # type: ignore[assignment]  # the transformer is inline
    except UnexpectedInput as error:
        raise InvalidSignature(_syntax_fault(text, error)) from None
    except VisitError as error:
        raise InvalidSignature(str(error.orig_exc)) from None
    return parsed


def parse_signature(payload: bytes) -> Signature:
    """Read what `cf_signature` returns, `{"input": "<type>", "output": "<type>"}`; raise InvalidSignature."""
    try:
        value = load_json(payload)
    except MalformedMessage as error:
        raise InvalidSignature(f"cf_signature is not JSON: {error}") from None
    match value:
        case {"input": str(taken), "output": str(given)}:
            return Signature(parse_type(taken), parse_type(given))
        case _:
            raise InvalidSignature(
                'cf_signature must return {"input": "<type>", "output": "<type>"}'
            )


def mismatches(value: Json, kind: Type) -> Iterator[Mismatch]:
    """Every place where `value` does not have the type `kind`, in document order."""
    yield from _mismatches(value, kind, ())


def _syntax_fault(text: str, error: UnexpectedInput) -> str:
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    position = len(text) if at_end else error.pos_in_stream or 0
    where = "the end" if at_end else f"character {position + 1}"
    return (
        f"not a type at {where}, after {text[max(0, position - 40) : position]!r}; types are "
        f"{', '.join(sorted(_NAMES))}, [T] and {{a: T, b: U}}"
    )


def _mismatches(value: Json, kind: Type, at: tuple[int | str, ...]) -> Iterator[Mismatch]:
    match kind, value:
        case (Scalar("text"), str()) | (Scalar("bool"), bool()):
            pass
        case (Scalar("number"), int() | float()) if not isinstance(value, bool):
            pass
        case (Scalar("json" | "bytes" | "image" | "document"), _):
            pass
        case (ListOf(item), list()):
            for index, child in enumerate(value):
                yield from _mismatches(child, item, (*at, index))
        case (Record(fields), dict()):
            for name, child in fields:
                if name in value:
                    yield from _mismatches(value[name], child, (*at, name))
                else:
                    yield Mismatch((*at, name), child, None)
        case _:
            yield Mismatch(at, kind, _json_type(value))


def _json_type(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def _depth(kind: Type) -> int:
    match kind:
        case Scalar():
            return 0
        case ListOf(item):
            return 1 + _depth(item)
        case Record(fields):
            return 1 + max((_depth(child) for _, child in fields), default=0)


@v_args(inline=True)
class _Build(Transformer[Token, Type]):
    """Builds types from the bottom up while the parser reduces, so that depth costs no stack."""

    def scalar(self, name: Token) -> Type:
        if str(name) not in _NAMES:
            raise InvalidSignature(
                f"unknown type {str(name)[:80]!r}; known are {', '.join(sorted(_NAMES))}"
            )
        return Scalar(str(name))

    def list_of(self, item: Type) -> Type:
        return self._bounded(ListOf(item))

    def field(self, name: Token, kind: Type) -> tuple[str, Type]:
        return str(name), kind

    def record(self, *fields: tuple[str, Type] | None) -> Type:
        present = tuple(field for field in fields if field is not None)
        counts = Counter(name for name, _ in present)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise InvalidSignature(f"a record names the field {twice[0][:80]!r} twice")
        return self._bounded(Record(present))

    def _bounded(self, kind: Type) -> Type:
        if _depth(kind) > SIGNATURE_DEPTH_MAX:
            raise InvalidSignature(f"a type may nest at most {SIGNATURE_DEPTH_MAX} levels")
        return kind


@cache
def _parser() -> Lark:
    """Made when a type is first read: who only calls a host never reads one."""
    return Lark(_GRAMMAR, start="type", parser="lalr", transformer=_Build())
