"""Inputs and results are held to the signature and to the JSON Schemas, with pointers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, FieldFault, JobError, OperatorError
from cuttlebone.specs.io_schemas import PARTS_SEARCHED_MAX, IoSchemas
from cuttlebone.text.fault_lists import FAULTS_SHOWN_MAX
from cuttlebone_abi import Json, Signature, parse_type

SIGNATURE = Signature(input=parse_type("{path: text, max: number}"))


def refused(io_schemas: IoSchemas, value: Json) -> CallerError:
    with pytest.raises(CallerError) as caught:
        io_schemas.check_input(value, "the spec `s`")
    return caught.value


def test_an_input_that_fits_is_accepted() -> None:
    io_schemas = IoSchemas(SIGNATURE, input_schema={"required": ["path"]})

    io_schemas.check_input({"path": "a", "max": 1, "more": []}, "the spec `s`")


def test_faults_against_the_signature_have_pointers_into_the_submission() -> None:
    assert refused(IoSchemas(SIGNATURE), {"path": 7}).faults == (
        FieldFault("/input/path", "should be text, but is a number"),
        FieldFault("/input/max", "missing; the block declares it as number"),
    )


def test_a_fault_against_the_schema_has_a_pointer() -> None:
    schema = {"properties": {"a/b~c": {"items": {"maximum": 3}}}}
    (fault,) = refused(IoSchemas(Signature(), input_schema=schema), {"a/b~c": [1, 5]}).faults

    assert fault.pointer == "/input/a~1b~0c/1"


@pytest.mark.parametrize(
    ("value", "where"), [({"path": 7, "max": 1}, "/path"), (7, "(the whole input)")]
)
def test_a_refusal_says_whose_shape_was_missed_and_where_first(value: Json, where: str) -> None:
    message = refused(IoSchemas(SIGNATURE), value).message

    assert message.startswith(f"the input does not fit the spec `s`: {where}: should be")


def test_of_each_kind_the_first_faults_are_told_and_how_many_more_there_are() -> None:
    io_schemas = IoSchemas(
        Signature(input=parse_type("[text]")), input_schema={"items": {"type": "string"}}
    )

    faults = refused(io_schemas, [1] * 1000).faults

    assert [fault.pointer for fault in faults] == 2 * [
        *(f"/input/{place}" for place in range(FAULTS_SHOWN_MAX)),
        "/input",
    ]
    assert faults[FAULTS_SHOWN_MAX].message == "and 984 more"
    assert faults[-1].message == "and 984 more"


LONG_TYPE = "[{" + ", ".join(f"field_{number}: text" for number in range(3_000)) + "}]"


def test_a_long_type_is_not_repeated_for_each_fault() -> None:
    faults = refused(IoSchemas(Signature(input=parse_type(LONG_TYPE))), [1] * 1000).faults

    assert all(len(fault.message) < 300 for fault in faults)
    assert faults[0].message.startswith("should be {field_0: text, field_1: text, ")
    assert faults[0].message.endswith("…, but is a number")


def test_a_long_key_makes_no_long_pointer() -> None:
    schema = {"additionalProperties": {"type": "string"}}

    (fault,) = refused(IoSchemas(Signature(), input_schema=schema), {"k" * 60_000: 1}).faults

    assert len(fault.pointer) < 1_100


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        ({"items": {"type": "string"}}, "/input/0", '1 is not of type "string"'),
        ({"anyOf": [{"items": {"type": "string"}}, {"type": "object"}]}, "/input", "does not fit"),
    ],
)
def test_of_a_large_value_one_fault_is_told(schema: Json, pointer: str, message: str) -> None:
    io_schemas = IoSchemas(Signature(), input_schema=schema)

    (fault,) = refused(io_schemas, [1] * PARTS_SEARCHED_MAX).faults

    assert fault.pointer == pointer
    assert fault.message.startswith(message)
    assert f"with more than {PARTS_SEARCHED_MAX} parts" in fault.message
    small = refused(io_schemas, [1] * (PARTS_SEARCHED_MAX - 1)).faults
    assert "parts" not in small[0].message


def test_a_large_result_that_does_not_fit_costs_one_look() -> None:
    io_schemas = IoSchemas(Signature(), output_schema={"items": {"type": "string"}})

    with pytest.raises(JobError, match=r"\$\.result\[0\]: 1 is not of type"):
        io_schemas.check_result([1] * 100_000)


@pytest.mark.parametrize(
    ("kind", "signature", "schema"),
    [
        ("number", "[text]", True),
        ("list", LONG_TYPE, True),
        ("number", "json", {"items": {"type": "string"}}),
        ("number", "json", {"anyOf": [{"items": {"type": "string"}}, {"items": False}]}),
    ],
)
def test_to_refuse_a_large_input_takes_less_than_eight_times_its_size(
    kind: str, signature: str, schema: Json
) -> None:
    program = Path(__file__).with_name("refuse_much.py")
    done = subprocess.run(
        [sys.executable, program, kind, signature, json.dumps(schema)],
        capture_output=True,
        check=True,
        timeout=120,
    )

    found = json.loads(done.stdout)
    assert found["grown"] < 8 * found["sent"]
    assert 0 < found["told"] < 10_000


@pytest.mark.parametrize(
    "schema", [{"type": "objekt"}, {"pattern": "("}, {"$ref": "https://example.org/a.json"}]
)
def test_what_is_no_schema_or_lies_elsewhere_is_refused(schema: object) -> None:
    with pytest.raises(OperatorError, match="`input` is not a JSON Schema"):
        IoSchemas(Signature(), input_schema=schema)
