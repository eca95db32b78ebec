"""Inputs and results are held to the signature and to the JSON Schemas, with pointers."""

import pytest

from cuttlebone.errors import CallerError, FieldFault, OperatorError
from cuttlebone.specs.io_schemas import FAULTS_SHOWN_MAX, IoSchemas
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


def test_faults_are_bounded() -> None:
    io_schemas = IoSchemas(Signature(input=parse_type("[text]")))

    assert len(refused(io_schemas, [1] * 1000).faults) == FAULTS_SHOWN_MAX


@pytest.mark.parametrize(
    "schema", [{"type": "objekt"}, {"pattern": "("}, {"$ref": "https://example.org/a.json"}]
)
def test_what_is_no_schema_or_lies_elsewhere_is_refused(schema: object) -> None:
    with pytest.raises(OperatorError, match="`input` is not a JSON Schema"):
        IoSchemas(Signature(), input_schema=schema)
