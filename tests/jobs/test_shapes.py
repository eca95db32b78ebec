"""Shapes: inputs and results are held to the signature and to the JSON Schemas, with pointers."""

import pytest

from cuttlebone.errors import FieldFault, OperatorError
from cuttlebone.jobs.shapes import FAULTS_SHOWN_MAX, Shapes
from cuttlebone_abi import Signature, parse_type

SIGNATURE = Signature(input=parse_type("{path: text, max: number}"))


def test_an_input_that_fits_has_no_faults() -> None:
    shapes = Shapes(SIGNATURE, input_schema={"required": ["path"]})

    assert shapes.input_faults({"path": "a", "max": 1, "more": []}) == ()


def test_a_fault_against_the_signature_has_a_pointer() -> None:
    faults = Shapes(SIGNATURE).input_faults({"path": 7})

    assert faults == (
        FieldFault("/path", "should be text, but is a number"),
        FieldFault("/max", "missing; the block declares it as number"),
    )


def test_a_fault_against_the_schema_has_a_pointer() -> None:
    schema = {"properties": {"a/b~c": {"items": {"maximum": 3}}}}
    (fault,) = Shapes(Signature(), input_schema=schema).input_faults({"a/b~c": [1, 5]})

    assert fault.pointer == "/a~1b~0c/1"


def test_faults_are_bounded() -> None:
    shapes = Shapes(Signature(input=parse_type("[text]")))

    assert len(shapes.input_faults([1] * 1000)) == FAULTS_SHOWN_MAX


@pytest.mark.parametrize(
    "schema", [{"type": "objekt"}, {"pattern": "("}, {"$ref": "https://example.org/a.json"}]
)
def test_what_is_no_schema_or_lies_elsewhere_is_refused(schema: object) -> None:
    with pytest.raises(OperatorError, match="`input` is not a JSON Schema"):
        Shapes(Signature(), input_schema=schema)
