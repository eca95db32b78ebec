"""A spec that the tests start from, and short ways to have one refused."""

import pytest

from cuttlebone.endpoints.config.spec import (
    InvalidConfig,
    MalformedSpec,
    read_spec,
    validate,
)

SMALLEST = {"role": "r", "runtime": "infer.llamacpp"}


def malformed(document: object) -> str:
    """Give the field of a refusal of shape."""
    with pytest.raises(MalformedSpec) as refused:
        read_spec(document)
    return refused.value.field


def invalid(document: object) -> str:
    """Give the field of a refused value."""
    field = refused_field(document)
    assert field is not None
    return field


def refused_field(document: object) -> str | None:
    """Give the field of a refused value, or None."""
    try:
        validate(read_spec(document))
    except InvalidConfig as refusal:
        return refusal.field if refusal.code == "invalid-config" else None
    return None
