"""Bounds on schemas and grammars, and the last check of a finished text."""

import dataclasses

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import FailedGeneration, Finished
from cuttlebone.generation.request import Grammar, JsonSchema
from cuttlebone.inference.constraints import (
    GRAMMAR_BYTES_MAX,
    GRAMMAR_NODES_MAX,
    SCHEMA_BYTES_MAX,
    SCHEMA_DEPTH_MAX,
    SCHEMA_NODES_MAX,
    check_grammar,
    check_schema,
    json_fault,
)
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode, Finish, Json
from inference.conftest import ask, collect, serving

NUMBER: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def nested(levels: int) -> Json:
    """A schema of so many levels."""
    schema: Json = True
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def compiled(constraint: JsonSchema) -> None:
    """Do all that does not need a model."""
    check_schema(constraint)
    json_fault(constraint.schema)


OVER_A_BOUND: dict[str, JsonSchema] = {
    "bytes": JsonSchema({"title": "x" * SCHEMA_BYTES_MAX}),
    "depth": JsonSchema(nested(SCHEMA_DEPTH_MAX + 1)),
    "nodes": JsonSchema({"enum": list(range(SCHEMA_NODES_MAX))}),
    "digits of multipleOf": JsonSchema({"multipleOf": 999_983}),
    "references": JsonSchema({"$ref": "https://example.org/"}),
    "not a schema": JsonSchema("text"),
    "not a usable schema": JsonSchema({"type": "strange"}),
}


@pytest.mark.parametrize("name", OVER_A_BOUND)
def test_a_schema_over_a_bound_is_refused(name: str) -> None:
    with pytest.raises(CommandError) as refusal:
        compiled(OVER_A_BOUND[name])
    assert refusal.value.code is ErrorCode.INVALID_GRAMMAR


def test_a_schema_at_its_bounds_is_accepted() -> None:
    check_schema(JsonSchema(nested(SCHEMA_DEPTH_MAX)))
    check_schema(JsonSchema({"enum": list(range(SCHEMA_NODES_MAX - 3)), "multipleOf": 9_999}))


@pytest.mark.parametrize(
    "text",
    [
        "start: " + '"a" ' * GRAMMAR_BYTES_MAX,
        "start: " + "(" * (GRAMMAR_NODES_MAX + 1),
        "\n".join(f"r{n}: r{n + 1}" for n in range(GRAMMAR_NODES_MAX + 1)),
        'start: %json {"type": "integer", "multipleOf": 999983}',
    ],
    ids=["bytes", "brackets", "rules", "a schema inside"],
)
def test_a_grammar_over_a_bound_is_refused(text: str) -> None:
    with pytest.raises(CommandError) as refusal:
        check_grammar(Grammar(text))
    assert refusal.value.code is ErrorCode.INVALID_GRAMMAR


@pytest.mark.parametrize(
    ("text", "well"), [('{"n": 1}', True), ('{"n": 1.5}', False), ('{"n": 1', False), ("", False)]
)
def test_finished_text_is_parsed_and_validated(text: str, *, well: bool) -> None:
    assert (json_fault(NUMBER)(text) is None) is well


def test_a_hostile_pattern_is_checked_in_linear_time() -> None:
    fault = json_fault({"type": "string", "pattern": "^(a+)+$"})
    assert fault('"' + "a" * 5000 + 'b"') is not None


@pytest.mark.parametrize(
    ("answer", "max_tokens", "expected"),
    [('{"n": 1}', 16, Finish.EOS), ('{"n": 1}', 1, Finish.LENGTH), ('{"n": "x"}', 16, None)],
)
def test_a_text_that_ended_and_breaks_its_constraint_is_never_handed_out(
    answer: str, max_tokens: int, expected: Finish | None
) -> None:
    with serving(ScriptedModel({"number": answer}, checks_constraints=True)) as thread:
        request = dataclasses.replace(
            ask("number", max_tokens=max_tokens), constraint=JsonSchema(NUMBER)
        )
        outcome = collect(thread.submit(request))[1]
    match outcome:
        case Finished(finish=finish):
            assert finish is expected
        case FailedGeneration(code=code):
            assert (code, expected) == (ErrorCode.INFER_FAILED, None)
