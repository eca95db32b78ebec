"""Pins of an intake are repeated in the manifest with values that are equal as JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.manifests import SMALLEST, errors_of
from cuttlebone.bench.manifest import (
    broken_pins,
    check_manifest,
    json_equal,
    pins_of,
)

PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_pins_are_those_of_the_intake() -> None:
    pins = pins_of({"workload": {"chat_template_kwargs": {"thinking": False}}})
    assert errors_of(pins) == ["/workload/chat_template_kwargs/thinking"]
    workload = {**SMALLEST["workload"], "chat_template_kwargs": {"thinking": False, "more": 1}}
    assert check_manifest({**SMALLEST, "workload": workload}, pins=pins).errors == ()
    assert pins_of({}) == {}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (0, False, False),
        (1, True, False),
        (True, 1.0, False),
        (1, 1.0, True),
        (0.0, -0.0, True),
        (2**53 + 1, float(2**53), False),
        ("1", 1, False),
        (None, False, False),
        (None, {}, False),
        ([], {}, False),
        ([1, 2], [2, 1], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        (float("nan"), float("nan"), False),
    ],
)
def test_values_are_equal_as_json(one: Any, other: Any, *, equal: bool) -> None:
    assert json_equal(one, other) is equal
    assert json_equal(other, one) is equal


@given(PLAIN_JSON)
def test_every_value_keeps_its_own_pin(value: Any) -> None:
    assert json_equal(value, value)
    assert broken_pins({"a": value}, {"a": value, "b": 1}) == ()
