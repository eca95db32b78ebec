"""The vectors of endpoint specs."""

from typing import Any

import pytest

from cuttlebone.endpoints.config.spec import (
    InvalidConfig,
    MalformedSpec,
    base_url,
    read_spec,
    validate,
    workload,
    write_spec,
)
from cuttlebone.endpoints.config.spec.tokens import is_flag_value, is_plain_token
from vector_cases import vectors


@vectors("token")
def test_a_plain_token_is_told_by_its_bytes(given: Any, expected: Any) -> None:
    assert is_plain_token(given["text"], given["max"]) is expected


@vectors("flag_value")
def test_a_flag_value_is_harmless_and_no_flag(given: Any, expected: Any) -> None:
    assert is_flag_value(given) is expected


@vectors("extra_args")
def test_only_flags_on_the_list_pass(given: Any, expected: Any) -> None:
    document = {
        "role": "r",
        "runtime": given["runtime"],
        "serve": {"extra_args": given["extra_args"]},
    }
    assert ("reject" if _refusal(document) else "accept") == expected


@vectors("endpoint_address")
def test_an_endpoint_is_reached_on_loopback_only(given: Any, expected: Any) -> None:
    serve = {key: given[key] for key in ("host", "port") if key in given}
    try:
        url = base_url(read_spec({"role": "r", "runtime": given["runtime"], "serve": serve}))
    except (MalformedSpec, InvalidConfig):
        url = "reject"
    assert url == expected


@vectors("inference_spec")
def test_a_spec_is_read_judged_and_written(given: Any, expected: Any) -> None:
    refusal = _refusal(given)
    if expected["verdict"] == "accept":
        assert refusal is None
        spec = read_spec(given)
        assert write_spec(spec) == expected["normalised"]
        assert read_spec(write_spec(spec)) == spec
    else:
        assert refusal is not None
        stage, field = refusal
        assert stage == expected["stage"]
        assert _names(field, expected["about"])


@vectors("workload_identity")
def test_a_valid_spec_gives_a_workload(given: Any, expected: Any) -> None:
    if expected == "reject":
        with pytest.raises((MalformedSpec, InvalidConfig)):
            workload(read_spec(given))
        return
    made = workload(read_spec(given))
    assert {"kind": made.kind, "id": made.id, "version": made.version} == expected


def _refusal(document: Any) -> tuple[str, str] | None:
    try:
        spec = read_spec(document)
    except MalformedSpec as refusal:
        return "decode", refusal.field
    try:
        validate(spec)
    except InvalidConfig as refusal:
        return "validate", refusal.field
    return None


def _names(field: str, about: str) -> bool:
    """Tell whether a field is the one that a vector speaks of, in it, or called so at its end."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    wanted = about.replace("[", ".").replace("]", "").split(".")
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts)))
