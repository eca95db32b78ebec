"""What of a JSON Schema can be kept while a text is made: all else is refused, with its place.

The matcher compares keys as they are spelled and numbers as 64-bit floats. Where that would let a text
through that the schema does not accept, the schema is narrowed, or refused before anything is paid.
"""

from collections.abc import Iterator
from typing import Final

from cuttlebone.errors import CommandError
from cuttlebone.text import printable
from cuttlebone.text.json_values import pointer
from cuttlebone_abi import ErrorCode, Json, dump_json, load_json
from cuttlebone_abi.walking import Location, walk

EXACT_MAX: Final = 1 << 53
"""Up to here each integer is a 64-bit float of its own."""
WRITTEN_OUT_MAX: Final = 2_000
"""Schemas that a text is checked against in the host itself."""

_SCHEMA: Final = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMAS: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED_SCHEMAS: Final = (
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
_NUMBERS: Final = (
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maximum",
    "minimum",
    "multipleOf",
)
_UNESCAPED_KEY: Final = r'^[^"\\\x00-\x1f]*$'
"""Keys that have one spelling only."""


def schemas_in(schema: Json) -> Iterator[tuple[dict[str, Json], Location]]:
    """Each schema in a schema that is an object, with the way there, outer before inner."""
    pending: list[tuple[Json, Location]] = [(schema, ())]
    while pending:
        node, location = pending.pop()
        if isinstance(node, dict):
            yield node, location
            pending.extend(reversed(list(_inner(node, location))))


def kept_schema(schema: Json) -> dict[str, Json]:
    """The schema that texts are made by: they fit `schema` too. Raises CommandError (invalid_grammar)."""
    if schema is False:
        raise unkept((), "it accepts nothing at all")
    narrowed: dict[str, Json] = {} if schema is True else load_json(dump_json(schema))
    for node, location in schemas_in(narrowed):
        _check_numbers(node, location)
        _keep_keys(node, location)
    return narrowed


def is_bounded(schema: Json) -> bool:
    """Whether checking a text takes time by its length: written out, references and all, it is short."""
    sizes: dict[str, int | None] = {}
    return _size(schema, schema, sizes) is not None


def unkept(location: Location, reason: str) -> CommandError:
    """Make the error that says what of a schema cannot be kept, and where."""
    place = f" at {printable(pointer(location))}" if location else ""
    return CommandError(ErrorCode.INVALID_GRAMMAR, f"`json_schema`{place}: {reason}")


def _size(node: Json, root: Json, sizes: dict[str, int | None]) -> int | None:
    """How many schemas a schema has with what it refers to; None if too many, or without an end."""
    total = 0
    for inner, _ in schemas_in(node):
        total += 1
        reference = inner.get("$ref")
        if isinstance(reference, str):
            if reference not in sizes:
                sizes[reference] = None  # as long as it is looked at: it may lead back to itself
                sizes[reference] = _size(_referred(reference, root), root, sizes)
            size = sizes[reference]
            total += WRITTEN_OUT_MAX if size is None else size
        if total >= WRITTEN_OUT_MAX:
            return None
    return total


def _referred(reference: str, root: Json) -> Json:
    """What a reference of the plain kind, `#/$defs/name`, leads to; any other leads to the root."""
    parts = reference.split("/")
    if len(parts) == 3 and parts[0] == "#" and isinstance(root, dict):
        shared = root.get(parts[1])
        if isinstance(shared, dict) and parts[2] in shared:
            return shared[parts[2]]
    return root


def _inner(node: dict[str, Json], location: Location) -> Iterator[tuple[Json, Location]]:
    for key in _SCHEMA:
        if isinstance(node.get(key), dict):
            yield node[key], (*location, key)
    for key in _SCHEMAS:
        if isinstance(node.get(key), list):
            yield from ((each, (*location, key, at)) for at, each in enumerate(node[key]))
    for key in _NAMED_SCHEMAS:
        if isinstance(node.get(key), dict):
            yield from ((each, (*location, key, name)) for name, each in node[key].items())


def _check_numbers(node: dict[str, Json], location: Location) -> None:
    for key in _NUMBERS:
        for value, inside in walk(node.get(key)):
            if isinstance(value, int | float) and abs(value) > EXACT_MAX:
                reason = f"numbers beyond 2 to the 53rd ({EXACT_MAX}) are not kept exactly"
                raise unkept((*location, key, *inside), reason)


def _keep_keys(node: dict[str, Json], location: Location) -> None:
    """Let no key be spelled in a second way where it matters which key it is."""
    named, patterns = node.get("properties"), node.get("patternProperties")
    others = node.get("additionalProperties", True)
    if others is not False or patterns:
        _check_count(node, location)
    if others is False or not (named or patterns):
        return
    if patterns or others not in (True, {}):
        stated = ("additionalProperties",) if "additionalProperties" in node else ()
        raise unkept(
            (*location, *stated),
            "beside `properties` or `patternProperties` this cannot be kept, as a key may be spelled "
            "with escapes; set `additionalProperties` to false, or leave it out beside `properties`",
        )
    node["patternProperties"] = {_UNESCAPED_KEY: True}
    node["additionalProperties"] = False


def _check_count(node: dict[str, Json], location: Location) -> None:
    required, least = node.get("required"), node.get("minProperties")
    certain = len(required) if isinstance(required, list) else 0
    if isinstance(least, int | float) and least > max(1, certain):
        raise unkept(
            (*location, "minProperties"),
            "this cannot be kept where keys are free, as one may come twice; name them in `required`",
        )
