"""The JSON Schemas of this package (draft 2020-12) as trees: keys, defaults, words for patterns.

They are files beside this module. The defaults that do not depend on other fields stand in them,
so that they are stated once.
"""

import copy
import importlib.resources
import json
from collections.abc import Iterator
from typing import Final

from cuttlebone.text.json_values import Json, Path

_FILES: Final = importlib.resources.files("cuttlebone.bench") / "schema"


class Schema:
    """One schema file. Nobody changes `root` after it was read."""

    def __init__(self, name: str) -> None:
        text = (_FILES / f"{name}.schema.json").read_text(encoding="utf-8")
        self.root: dict[str, Json] = json.loads(text)
        self._definitions: dict[str, dict[str, Json]] = json.loads(text)["$defs"]

    def described_patterns(self) -> Iterator[tuple[str, str]]:
        """Give each pattern with its description, which says in words what it takes."""
        return _described_patterns(self.root)

    def filled(self, document: dict[str, Json]) -> dict[str, Json]:
        """Give a document of this shape with its defaults, keys in the order of the schema.

        Whole numbers that were written as floats become integers.
        """
        return self._filled_object(self.root, document)

    def known_keys(self, schema_path: Path) -> tuple[str, ...]:
        """List the keys of the closed object whose `additionalProperties` a path leads to.

        By the path in the schema, not in the document: which keys an object may have can depend on
        a value in it, and the path tells which of the cases was taken.
        """
        part: Json = self.root
        for step in schema_path[:-1]:
            if isinstance(part, dict):
                part = part[str(step)]
            elif isinstance(part, list):
                part = part[int(step)]
        properties = part.get("properties") if isinstance(part, dict) else None
        return tuple(properties) if isinstance(properties, dict) else ()

    def child(self, schema_path: Path, key: str) -> dict[str, Json]:
        """Give the schema of a key by the innermost object on a path that says anything of it."""
        found: dict[str, Json] = {}
        part: Json = self.root
        for step in schema_path:
            if isinstance(part, dict):
                properties = part.get("properties")
                said = properties.get(key) if isinstance(properties, dict) else None
                found = said if isinstance(said, dict) else found
                part = part[str(step)]
            elif isinstance(part, list):
                part = part[int(step)]
        return self._resolved(found)

    def _properties(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Give the properties of a schema, those of its conditional parts included."""
        properties: dict[str, Json] = {}
        branches: list[Json] = [schema]
        while branches:
            branch = branches.pop(0)
            if not isinstance(branch, dict):
                continue
            found = branch.get("properties")
            if isinstance(found, dict):
                properties = {**found, **properties}
            branches += [branch.get("then"), branch.get("else")]
            parts = branch.get("allOf")
            branches += parts if isinstance(parts, list) else []
        return properties

    def _resolved(self, schema: dict[str, Json]) -> dict[str, Json]:
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        named = self._definitions[target.removeprefix("#/$defs/")]
        return {**named, **schema}

    def _filled(self, schema: dict[str, Json], value: Json) -> Json:
        schema = self._resolved(schema)
        match value:
            case dict():
                return self._filled_object(schema, value)
            case list():
                items = schema.get("items")
                return (
                    [self._filled(items, item) for item in value]
                    if isinstance(items, dict)
                    else value
                )
            case float() if schema.get("type") == "integer" or isinstance(schema.get("const"), int):
                return int(value)
            case _:
                return value

    def _filled_object(self, schema: dict[str, Json], value: dict[str, Json]) -> dict[str, Json]:
        filled: dict[str, Json] = {}
        for key, child in self._properties(schema).items():
            resolved = self._resolved(child) if isinstance(child, dict) else {}
            if key in value:
                filled[key] = self._filled(resolved, value[key])
            elif "default" in resolved:
                filled[key] = self._filled(resolved, copy.deepcopy(resolved["default"]))
        return {**filled, **{key: item for key, item in value.items() if key not in filled}}


def _described_patterns(schema: Json) -> Iterator[tuple[str, str]]:
    match schema:
        case {"pattern": str() as pattern, "description": str() as text}:
            yield pattern, text
        case dict():
            for child in schema.values():
                yield from _described_patterns(child)
        case list():
            for child in schema:
                yield from _described_patterns(child)
        case _:
            pass
