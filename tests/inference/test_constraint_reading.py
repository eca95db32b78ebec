"""Grammars and schemas meet the library: reasons name the author's lines and places, and texts keep to them."""

import random
from collections.abc import Callable

import llguidance
import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.request import JsonSchema
from cuttlebone.inference.constraint_reading import (
    is_lark,
    matcher_of,
    schema_grammar,
    try_grammar,
    try_schema,
)
from cuttlebone.inference.constraints import check_schema, json_fault
from cuttlebone.inference.schema_keeping import kept_schema
from cuttlebone_abi import Json
from inference.random_schemas import random_schema, random_text

TEXTS_EACH = 8


@pytest.fixture(scope="module")
def tokenizer() -> llguidance.LLTokenizer:
    return llguidance.LLTokenizer("byte")


GRAMMARS: dict[str, tuple[str, str]] = {
    "a rule that is missing": (
        'root ::= "a" b\n\nb ::= [x-z]+ c\n',
        "`grammar`, line 3, `b ::= [x-z]+ c`: there is no rule `c`",
    ),
    "no sign behind a name": ('# one\nroot = "a"', '`grammar`, line 2, `root = "a"`: Expected ::='),
    "a bracket too many": ('root ::= b\nb ::= "x" ) "y"', '`grammar`, line 2, `b ::= "x" ) "y"`: '),
    "no root": ('a ::= "x"', "`grammar`: in GBNF a text is what the rule `root` says"),
    "only lines": ("\n" * 60_000, "`grammar`: in GBNF a text is what the rule `root` says"),
    "a cubic one": ("\n" * 700 + "a" * 700, "`grammar`, line 701, `aaa"),
    "an unknown name": ("start: a\nb: /x/", "`grammar`, line 1, `start: a`: unknown name"),
    "a bad expression": ("root ::= a\n\n\na ::= [z-a-]\n", "`grammar`, line 4, `a ::= [z-a-]`: "),
    "a loop": ("start: start", "`grammar`: no text fits it"),
}


@pytest.mark.parametrize(("text", "saying"), GRAMMARS.values(), ids=GRAMMARS)
def test_a_faulty_grammar_is_refused_with_the_line_of_its_author(
    tokenizer: llguidance.LLTokenizer, text: str, saying: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        try_grammar(tokenizer, text)
    assert refusal.value.message.startswith(saying), refusal.value.message


SCHEMAS: dict[str, tuple[Json, str]] = {
    "branches that overlap": (
        {"properties": {"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}},
        "`json_schema` at /properties/a: `oneOf` can be kept only where",
    ),
    "a keyword": (
        {"items": {"anyOf": [{}, {"not": {}}]}},
        "`json_schema` at /items/anyOf/1: the keyword `not` cannot be kept",
    ),
    "itself": ({"$ref": "#"}, "`json_schema`: no text fits it"),
    "a pattern": (
        {"$defs": {"p": {"type": "string", "pattern": "(?=a)"}}, "items": {"$ref": "#/$defs/p"}},
        "`json_schema` at /$defs/p: ",
    ),
}


@pytest.mark.parametrize(("schema", "saying"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_cannot_be_kept_is_refused_with_the_place(
    tokenizer: llguidance.LLTokenizer, schema: Json, saying: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        try_schema(tokenizer, kept_schema(schema))
    assert refusal.value.message.startswith(saying), refusal.value.message


@pytest.mark.parametrize(
    "branches",
    [
        [{"type": "integer"}, {"type": "string"}],
        [
            {"type": "object", "properties": {"k": {"const": kind}}, "required": ["k"]}
            for kind in ("a", "b")
        ],
    ],
)
def test_branches_that_exclude_each_other_are_kept(
    tokenizer: llguidance.LLTokenizer, branches: list[Json]
) -> None:
    try_schema(tokenizer, kept_schema({"oneOf": branches}))


@pytest.mark.parametrize(
    ("text", "lark"),
    [
        ("start: a", True),
        ("a: b\n \t start\t: a", True),
        ("%llguidance {}\n", True),
        ("start ::= a", False),
        ("root ::= a", False),
        ("started: a", False),
    ],
)
def test_lark_is_told_from_gbnf_by_the_rule_it_begins_with(text: str, *, lark: bool) -> None:
    assert is_lark(text) is lark


def test_no_text_that_is_let_through_breaks_its_schema(
    tokenizer: llguidance.LLTokenizer, trials: Callable[[int], int]
) -> None:
    kept = 0
    for seed in range(trials(60)):
        chance = random.Random(seed)
        schema = random_schema(chance)
        try:
            check_schema(JsonSchema(schema))
            narrowed, fault = kept_schema(schema), json_fault(schema)
            try_schema(tokenizer, narrowed)
        except CommandError:
            continue
        matcher = matcher_of(tokenizer, schema_grammar(narrowed))
        for text in (random_text(chance, matcher) for _ in range(TEXTS_EACH)):
            assert text is None or fault(text) is None, (seed, schema, text)
            kept += text is not None
    assert kept > 0
