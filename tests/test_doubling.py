"""The measure of the tests: it tells work that grows faster than what it is given."""

import re

import pytest

from doubling import assert_linear


def test_quadratic_work_is_told() -> None:
    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(re.compile(r"(?m)^\s*x").search, "\n".__mul__, size_max=1 << 13)


def test_linear_work_passes() -> None:
    assert_linear(re.compile(r"x").search, "\n".__mul__, size_max=1 << 20)
