"""Schemas are narrowed to what can be kept while a text is made, or refused with the place."""

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.inference.schema_keeping import EXACT_MAX, is_bounded, kept_schema, schemas_in
from cuttlebone_abi import ErrorCode, Json

REFUSED: dict[str, tuple[Json, str]] = {
    "a bound that no float has": (
        {"properties": {"a": {"maximum": EXACT_MAX + 1}}},
        "/properties/a/maximum: numbers beyond 2 to the 53rd",
    ),
    "a listed number that no float has": (
        {"items": {"enum": [1, {"a": [-EXACT_MAX - 1]}]}},
        "/items/enum/1/a/0: numbers beyond",
    ),
    "a float beyond them": ({"minimum": 1e17}, "/minimum: numbers beyond"),
    "other keys of a type": (
        {"anyOf": [True, {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}]},
        "/anyOf/1/additionalProperties: beside `properties`",
    ),
    "keys beside patterns": (
        {"$defs": {"x/y": {"patternProperties": {"^a": {}}}}},
        "/$defs/x~1y: beside `properties` or `patternProperties`",
    ),
    "a number of free keys": ({"minProperties": 2}, "/minProperties: this cannot be kept"),
    "nothing": (False, "`json_schema`: it accepts nothing at all"),
}


@pytest.mark.parametrize(("schema", "saying"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_refused_with_its_place(schema: Json, saying: str) -> None:
    with pytest.raises(CommandError) as refusal:
        kept_schema(schema)
    assert refusal.value.code is ErrorCode.INVALID_GRAMMAR
    assert saying in refusal.value.message


KEPT: dict[str, Json] = {
    "anything": {},
    "bounds that floats have": {"minimum": -EXACT_MAX, "maximum": EXACT_MAX},
    "closed objects": {
        "properties": {"a": {}},
        "patternProperties": {"^b": {}},
        "additionalProperties": False,
    },
    "free objects of one type": {"additionalProperties": {"type": "string"}, "minProperties": 1},
    "keys that are named": {"minProperties": 2, "required": ["a", "b"]},
    "what only looks like a schema": {"const": {"properties": {"a": {}}}},
    "a property named as a keyword": {"required": ["minimum"], "additionalProperties": True},
}


@pytest.mark.parametrize("schema", KEPT.values(), ids=KEPT)
def test_what_can_be_kept_stays_as_it_is(schema: Json) -> None:
    assert kept_schema(schema) == schema


def test_true_is_the_schema_of_anything() -> None:
    assert kept_schema(True) == {}


def test_an_open_object_with_named_keys_has_others_in_one_spelling_only() -> None:
    schema: Json = {"items": {"properties": {"a": {"type": "integer"}}}}
    kept = kept_schema(schema)["items"]
    assert kept["additionalProperties"] is False
    assert list(kept["patternProperties"].values()) == [True]
    assert "patternProperties" not in schema["items"]


def test_every_schema_is_found_and_nothing_else() -> None:
    schema: Json = {
        "properties": {"properties": {"type": "null"}},
        "anyOf": [{"items": {}}, True],
        "items": [{}],
        "enum": [{"items": {}}],
        "default": {"items": {}},
    }
    assert {location for _, location in schemas_in(schema)} == {
        (),
        ("properties", "properties"),
        ("anyOf", 0),
        ("anyOf", 0, "items"),
        ("items", 0),
    }


def chain(length: int) -> Json:
    """A schema that is checked in two to the power of `length` ways."""
    shared: dict[str, Json] = {
        f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(length)
    }
    return {"$ref": "#/$defs/a0", "$defs": shared | {f"a{length}": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "bounded"),
    [
        (True, True),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}, True),
        (chain(4), True),
        (chain(30), False),
        ({"items": {"$ref": "#"}}, False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, False),
        ({"$ref": "#/properties/a/items", "properties": {"a": {"items": {}}}}, False),
    ],
)
def test_a_schema_is_bounded_if_it_is_short_when_written_out(
    schema: Json, *, bounded: bool
) -> None:
    assert is_bounded(schema) is bounded
