"""The first layer of a check: a document against its JSON Schema, each breach in words."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import jsonschema_rs

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.schemas import Schema
from cuttlebone.bench.secrets import looks_secret
from cuttlebone.text.json_values import Json, Path, pointer, shown, value_fault
from cuttlebone_abi.walking import walk

_OF_TYPE: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BOUNDS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be over {}",
    "minLength": "must have at least {} character",
    "minItems": "must hold at least {} item",
    "minProperties": "must have at least {} keys",
    "uniqueItems": "must not hold an item twice",
}


@dataclass(frozen=True, slots=True)
class ShapeFault:
    """One breach of a schema. `unknown` is the key that a closed object does not have."""

    path: Path
    message: str
    unknown: str | None = None

    @property
    def place(self) -> Path:
        """Where it is: at the unknown key itself, if that is what it is about."""
        return self.path if self.unknown is None else (*self.path, self.unknown)

    @property
    def finding(self) -> Finding:
        """The fault as it is reported."""
        return finding(self.place, self.message)


class Shape:
    """What a document of one kind looks like. Immutable."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._validator = jsonschema_rs.Draft202012Validator(schema.root)
        self._patterns = dict(schema.described_patterns())

    def faults(self, value: object) -> tuple[ShapeFault, ...]:
        """List every breach in the order of the document; none means that `value` has the shape."""
        if (fault := value_fault(value)) is not None:
            return (ShapeFault(fault.path, fault.reason),)
        items = {path: item for item, path in walk(value)}
        infinite = {
            path: item
            for path, item in items.items()
            if isinstance(item, float) and not math.isfinite(item)
        }
        faults = [
            ShapeFault(path, f"{number} is not finite; give a finite number")
            for path, number in infinite.items()
        ]
        for error in self._validator.iter_errors(value):
            path = tuple(error.instance_path)
            if path not in infinite:
                faults.extend(self._faults_of(path, error))
        places = {path: at for at, path in enumerate(items)}
        # A key that is missing stands where its object does.
        return tuple(
            sorted(faults, key=lambda at: places.get(at.place, places.get(at.place[:-1], 0)))
        )

    def _faults_of(self, path: Path, error: jsonschema_rs.ValidationError) -> Iterator[ShapeFault]:
        keyword: str = error.kind.name
        expected: Json = error.kind.value
        if keyword == "additionalProperties" and isinstance(expected, list):
            known = ", ".join(self.schema.known_keys(tuple(error.schema_path))) or "none"
            for key in map(str, expected):
                yield ShapeFault(path, f"unknown key {shown(key)}; known here are: {known}", key)
        elif keyword == "required":
            key = str(expected)
            wanted = _wanted(self.schema.child(tuple(error.schema_path), key))
            yield ShapeFault((*path, key), f"missing; it is required here and must be {wanted}")
        else:
            value = _shown_at(path, error.instance)
            yield ShapeFault(path, f"{value} {self._rule(keyword, expected, error.instance)}")

    def _rule(self, keyword: str, expected: Json, value: object) -> str:
        options = expected if isinstance(expected, list) else [expected]
        match keyword:
            case "type":
                hint = "; in YAML, quote it" if options == ["string"] and value is not None else ""
                rule = f"must be {_wanted({keyword: expected})}{hint}"
            case "enum" | "const":
                rule = f"must be {_wanted({keyword: expected})}"
            case "pattern":
                rule = f"must be {self._patterns.get(str(expected), expected)}"
            case _:
                rule = _BOUNDS[keyword].format(shown(expected))
        return rule


def _wanted(schema: Mapping[str, Json]) -> str:
    """Say in words which values a schema is for, as far as one keyword tells."""
    match schema:
        case {"enum": list() as options}:
            return f"one of {', '.join(map(shown, options))}"
        case {"const": option}:
            return shown(option)
        case {"type": list() as names}:
            return " or ".join(_OF_TYPE[str(name)] for name in names)
        case {"type": name}:
            return _OF_TYPE[str(name)]
        case _:
            return "present"


def _shown_at(path: Path, value: object) -> str:
    """Show a value, unless the name of its field says that it is a secret."""
    secret = any(isinstance(part, str) and looks_secret(part) for part in path)
    return f"the value of {pointer(path[-1:])}" if secret else shown(value)
