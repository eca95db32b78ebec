"""JSON values are compared as JSON, in which 1 is 1.0 and true is no number."""

from typing import Any

import pytest

from cuttlebone.text.json_values import json_equal


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
        ([1], [1, 1], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        (float("nan"), float("nan"), False),
    ],
)
def test_values_are_equal_as_json(one: Any, other: Any, *, equal: bool) -> None:
    assert json_equal(one, other) is equal
    assert json_equal(other, one) is equal
    assert json_equal({"a": [one]}, {"a": [other]}) is equal
