"""Generations of the demo model under schemas and grammars, and constraints that it refuses."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import Finished
from cuttlebone.generation.request import CompileTerms, Grammar, JsonSchema, Sampling
from cuttlebone.inference.llama import LlamaModel
from cuttlebone.inference.thread import InferenceThread
from cuttlebone_abi import ErrorCode, Finish, Json, load_json
from inference.conftest import ask, collect

SCHEMAS: dict[str, Json] = {
    "object": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 20},
            "year": {"type": "integer", "minimum": 1900, "maximum": 2030},
            "rating": {"type": "number", "minimum": 0, "maximum": 10},
            "seen": {"type": "boolean"},
        },
        "required": ["title", "year", "rating", "seen"],
        "additionalProperties": False,
    },
    "array of enums": {
        "type": "array",
        "items": {"enum": ["red", "green", 3, None]},
        "minItems": 2,
        "maxItems": 4,
    },
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"},
    "references": {
        "$ref": "#/$defs/tree",
        "$defs": {
            "leaf": {"type": "integer", "minimum": -5, "maximum": 5},
            "tree": {
                "type": "object",
                "properties": {"left": {"$ref": "#/$defs/leaf"}, "right": {"$ref": "#/$defs/leaf"}},
                "required": ["left", "right"],
                "additionalProperties": False,
            },
        },
    },
    "anyOf": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "boolean"}, {"const": [1]}]},
}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_text_under_a_schema_is_json_of_that_schema(
    demo_thread: InferenceThread, name: str, temperature: float
) -> None:
    request = dataclasses.replace(
        ask("Give me an example.", max_tokens=160),
        constraint=JsonSchema(SCHEMAS[name]),
        sampling=Sampling(temperature=temperature, seed=11),
    )
    outcome = collect(demo_thread.submit(request))[1]
    assert isinstance(outcome, Finished), outcome
    assert outcome.finish is Finish.EOS
    load_json(outcome.text.encode())


def test_a_text_that_was_cut_is_reported_as_cut(demo_thread: InferenceThread) -> None:
    request = dataclasses.replace(
        ask("Give me an example.", max_tokens=3), constraint=JsonSchema(SCHEMAS["object"])
    )
    outcome = collect(demo_thread.submit(request))[1]
    assert isinstance(outcome, Finished)
    assert outcome.finish is Finish.LENGTH


@pytest.mark.parametrize(
    "grammar", ['start: "yes" | "no"', 'root ::= answer\nanswer ::= "yes" | "no"']
)
def test_text_under_a_grammar_is_a_sentence_of_it(
    demo_thread: InferenceThread, grammar: str
) -> None:
    request = dataclasses.replace(ask("Is water wet?"), constraint=Grammar(grammar))
    outcome = collect(demo_thread.submit(request))[1]
    assert isinstance(outcome, Finished), outcome
    assert outcome.text in {"yes", "no"}


HOSTILE: dict[str, JsonSchema | Grammar] = {
    "bad pattern": JsonSchema({"type": "string", "pattern": "("}),
    "nested pattern": JsonSchema({"type": "string", "pattern": "(" * 5000 + ")" * 5000}),
    "refers to itself": JsonSchema({"$ref": "#"}),
    "refers elsewhere": JsonSchema({"$ref": "https://example.org/schema"}),
    "refers to nothing": JsonSchema({"$ref": "#/$defs/none"}),
    "allows nothing": JsonSchema(False),
    "is no schema": JsonSchema({"type": "strange"}),
    "unknown demands": JsonSchema({"not": {"type": "string"}}),
    "huge number": JsonSchema({"type": "integer", "minimum": 10**300}),
    "no grammar": Grammar("this is ::: nothing"),
    "unknown rule": Grammar("start: nothing"),
    "brackets": Grammar("start: " + "(" * 400 + '"a"' + ")" * 400),
    "exploding terminals": Grammar(
        "start: R\nR: " + " & ".join(f"/(.*a.{{{n}}}b.*)/" for n in range(2, 12))
    ),
    "GBNF without a root": Grammar('other ::= "a"'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_constraint_is_refused_and_costs_nothing(llama: LlamaModel, name: str) -> None:
    with pytest.raises(CommandError) as refusal:
        llama.compile(HOSTILE[name], CompileTerms())
    assert refusal.value.code is ErrorCode.INVALID_GRAMMAR


def test_damaged_constraints_compile_or_are_refused(
    llama: LlamaModel, trials: Callable[[int], int]
) -> None:
    chance = random.Random(4)
    texts = [
        'start: a b+ | "c"\na: "x"{2,5} /[a-z]+/\nb: (a | "y")?',
        'root ::= [a-z]+ ("," root)?',
    ]
    compiled = 0
    tried = trials(400)
    for number in range(tried):
        if number % 2:
            constraint: JsonSchema | Grammar = Grammar(_damaged(chance, chance.choice(texts)))
        else:
            constraint = JsonSchema(_random_schema(chance, depth=3))
        compiled += _compiles(llama, constraint)
    assert 0 < compiled < tried


def _compiles(model: LlamaModel, constraint: JsonSchema | Grammar) -> bool:
    try:
        model.compile(constraint, CompileTerms())
    except CommandError as error:
        return error.code is not ErrorCode.INVALID_GRAMMAR
    return True


def _damaged(chance: random.Random, text: str) -> str:
    chars = list(text)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(chars))
        chars[at : at + chance.randrange(3)] = chance.choice('()[]{}|&~*+?:="/\\a0%\n\x00é')
    return "".join(chars)


def _random_schema(chance: random.Random, *, depth: int) -> Json:
    keywords: dict[str, Json] = {
        "type": ["string", "integer", "object", "array", "strange", ["null", "number"], 3],
        "enum": [[1, "a", None], [], "x"],
        "minimum": [0, -1.5, "low", 1e308],
        "maxLength": [0, 3, -1, 10**9],
        "pattern": ["^a+$", "(", "(?=x)", "a{2,1}", "\\d{1000}"],
        "required": [["a"], ["a", "a"], "a"],
        "minItems": [0, 2, 10**9, 1.5],
        "multipleOf": [2, 0.01, 0, -3, 999983],
        "$ref": ["#", "#/$defs/a", "http://example.org/", "#/%00"],
        "format": ["date", "uuid", "nothing"],
    }
    schema: dict[str, Json] = {
        key: chance.choice(keywords[key]) for key in chance.sample(sorted(keywords), k=2)
    }
    if depth:
        inner = [_random_schema(chance, depth=depth - 1) for _ in range(2)]
        schema.update(
            chance.choice(
                [
                    {"properties": {"a": inner[0], "b": inner[1]}},
                    {"anyOf": inner},
                    {"items": inner[0]},
                    {"$defs": {"a": inner[0]}},
                    {"prefixItems": inner},
                ]
            )
        )
    return schema
