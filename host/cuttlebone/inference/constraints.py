"""Bounds on schemas and grammars before native code compiles them, and the check of finished JSON."""

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Final

import jsonschema_rs

from cuttlebone.errors import CommandError
from cuttlebone.generation.request import Grammar, JsonSchema
from cuttlebone.text import printable
from cuttlebone.text.json_values import pointer
from cuttlebone_abi import INTEGER_DIGITS_MAX, ErrorCode, Json, dump_json
from cuttlebone_abi.walking import walk

SCHEMA_BYTES_MAX: Final = 64 << 10
SCHEMA_DEPTH_MAX: Final = 32
SCHEMA_NODES_MAX: Final = 1_000
GRAMMAR_BYTES_MAX: Final = 64 << 10
GRAMMAR_NODES_MAX: Final = 1_000
"""Brackets and rules: the compiler recurses through both, and a stack that overflows ends the process."""
MULTIPLE_OF_DIGITS_MAX: Final = 10_000
"""The digits of `multipleOf`, read as an integer: a million of them compile for 12 s into 0.5 GB."""

_FORBIDDEN: Final = ("%json", "%llguidance")
Fault = Callable[[str], str | None]
"""What is wrong with a finished text, or None."""


def invalid_grammar(reason: str) -> CommandError:
    """Make the error that says why a constraint cannot be kept."""
    return CommandError(ErrorCode.INVALID_GRAMMAR, reason)


def check_grammar(grammar: Grammar) -> None:
    """Raise CommandError if a grammar is over a bound or embeds what has a bound of its own."""
    size = len(grammar.text.encode())
    if size > GRAMMAR_BYTES_MAX:
        raise invalid_grammar(
            f"`grammar` has {size} bytes; at most {GRAMMAR_BYTES_MAX} are compiled"
        )
    for directive in _FORBIDDEN:
        if directive in grammar.text:
            raise invalid_grammar(f"`grammar` may not use {directive}; there is `json_schema`")
    nodes = sum(map(grammar.text.count, "([{")) + _rules(grammar.text)
    if nodes > GRAMMAR_NODES_MAX:
        raise invalid_grammar(
            f"`grammar` has {nodes} brackets and rules; at most {GRAMMAR_NODES_MAX} are compiled"
        )


def _rules(text: str) -> int:
    """Lines that may begin a rule: a name, and somewhere a colon."""
    lines = (line.lstrip().lstrip("?!") for line in text.split("\n") if ":" in line)
    return sum(line[:1].isalnum() or line[:1] in {"_", ".", "-"} for line in lines)


def check_schema(constraint: JsonSchema) -> bytes:
    """Raise CommandError if a schema is over a bound; answer it as JSON."""
    if not isinstance(constraint.schema, dict | bool):
        raise invalid_grammar("`json_schema` must be an object")
    _look_through(constraint.schema)
    data = dump_json(constraint.schema)
    if len(data) > SCHEMA_BYTES_MAX:
        raise invalid_grammar(
            f"`json_schema` has {len(data)} bytes; at most {SCHEMA_BYTES_MAX} are compiled"
        )
    return data


def json_fault(schema: Json) -> Fault:
    """Compile the check of a finished text; raise CommandError if the schema is none."""
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            offline=True,
            # Not the default engine, which may take exponential time over a hostile pattern.
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        place = printable(pointer(error.instance_path))
        raise invalid_grammar(
            f"`json_schema`{' at ' if place else ''}{place} is no JSON Schema: {printable(error.message)}"
        ) from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        reason = printable(str(error).splitlines()[0])
        raise invalid_grammar(f"`json_schema` is not a usable JSON Schema: {reason}") from None

    def fault(text: str) -> str | None:
        try:
            value = _loaded(text)
        except (ValueError, RecursionError) as error:
            return f"it is not JSON: {printable(str(error))}"
        found = next(iter(validator.iter_errors(value)), None)
        return printable(found.message) if found is not None else None

    return fault


def _loaded(text: str) -> Json:
    """Read a finished text, exactly where that is possible.

    A schema that bounds no number lets one through that no 64-bit float holds: the largest one stands
    for it. Integers of so many digits count for as many digits as are read.
    """
    return json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_no_number)


def _float(text: str) -> float:
    return max(min(float(text), sys.float_info.max), -sys.float_info.max)


def _int(text: str) -> int:
    return int(text[:INTEGER_DIGITS_MAX])


def _no_number(text: str) -> Json:
    raise ValueError(f"{text} is no number")


def _look_through(schema: Json) -> None:
    """Bound nodes and depth, and look at what is dear or leads elsewhere."""
    for nodes, (node, location) in enumerate(walk(schema), start=1):
        if nodes > SCHEMA_NODES_MAX:
            raise invalid_grammar(f"`json_schema` has more than {SCHEMA_NODES_MAX} nodes")
        if len(location) >= SCHEMA_DEPTH_MAX:
            raise invalid_grammar(f"`json_schema` nests deeper than {SCHEMA_DEPTH_MAX} levels")
        if isinstance(node, dict):
            _look_at(node)


def _look_at(node: dict[str, Json]) -> None:
    reference, multiple = node.get("$ref"), node.get("multipleOf")
    if isinstance(reference, str) and not reference.startswith("#"):
        raise invalid_grammar(
            f"`json_schema` refers to {printable(reference)}; only references into itself work"
        )
    if isinstance(multiple, int | float) and not isinstance(multiple, bool):
        digits = int("".join(map(str, Decimal(str(multiple)).as_tuple().digits)))
        if digits > MULTIPLE_OF_DIGITS_MAX:
            raise invalid_grammar(
                f"`multipleOf` is {multiple}; its digits may make at most {MULTIPLE_OF_DIGITS_MAX}"
            )
