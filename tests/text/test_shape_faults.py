"""Faults of shape: what is refused, and what would be accepted."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cuttlebone.text.shape_faults import reason_of
from cuttlebone_abi import Json
from cuttlebone_abi.faults import requirement


class Inner(BaseModel):
    """Something inside."""

    model_config = ConfigDict(strict=True)


class Shape(BaseModel):
    """One field of each kind."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str
    count: int = Field(0, ge=0)
    flag: bool = False
    inner: Inner = Inner()
    items: list[str] = Field([], max_length=1)
    word: Literal["a", "b"] = "a"

    @field_validator("name")
    @classmethod
    def _not_empty(cls, name: str) -> str:
        if not name:
            raise ValueError("a name has a letter at least")
        return name


FAULTS: list[tuple[dict[str, Json], str, str]] = [
    ({}, "is required and missing", "missing; this field is required"),
    (
        {"name": 7},
        "should be a valid string",
        "7 is refused: it must be text; in YAML, quote it",
    ),
    (
        {"name": ""},
        "a name has a letter at least",
        '"" is refused: a name has a letter at least',
    ),
    (
        {"name": "x", "count": True},
        "should be a valid integer",
        "true is refused: it must be a whole number, without a fraction and without quotes",
    ),
    (
        {"name": "x", "count": -1},
        "should be greater than or equal to 0",
        "-1 is refused: it must be greater than or equal to 0",
    ),
    (
        {"name": "x", "flag": 1},
        "should be a valid boolean",
        "1 is refused: it must be true or false",
    ),
    (
        {"name": "x", "inner": None},
        "should be an object",
        "null is refused: it must be an object",
    ),
    (
        {"name": "x", "items": {}},
        "should be an array",
        "an empty object is refused: it must be a list",
    ),
    (
        {"name": "x", "items": ["a", "b"]},
        "has 2 elements, but may have 1",
        "a list is refused: has 2 elements, but may have 1",
    ),
    (
        {"name": "x", "word": "c"},
        "should be 'a' or 'b'",
        "\"c\" is refused: it must be 'a' or 'b'",
    ),
]


@pytest.mark.parametrize(("value", "required", "reason"), FAULTS)
def test_a_fault_is_told_in_the_words_of_json(
    value: dict[str, Json], required: str, reason: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        Shape.model_validate(value)
    [fault] = refusal.value.errors(include_url=False)
    assert requirement(fault) == required
    assert reason_of(fault) == reason


def test_the_value_of_an_unknown_key_is_not_shown() -> None:
    with pytest.raises(ValidationError) as refusal:
        Shape.model_validate({"name": "x", "api_key": "secret"})
    [fault] = refusal.value.errors(include_url=False)
    assert reason_of(fault) == "unknown key"
