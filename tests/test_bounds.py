"""Tests wait longer on a slow machine, within bounds."""

import pytest

import bounds


def test_a_machine_is_never_quicker_than_a_quiet_one() -> None:
    assert bounds.measured_slowness() > 0.9


@pytest.mark.parametrize(("stated", "taken"), [("0.2", 1.0), ("2.5", 2.5), ("70", 6.0)])
def test_the_factor_stays_within_its_bounds(stated: str, taken: float) -> None:
    assert bounds.slowness(stated) == taken


def test_every_bound_is_multiplied_by_it() -> None:
    assert bounds.scaled(10.0) == 10.0 * bounds.SLOWNESS
    assert 1.0 <= bounds.SLOWNESS <= bounds.SLOWNESS_MAX


def test_so_is_the_time_limit_of_a_test(pytestconfig: pytest.Config) -> None:
    limit_s: float | None = pytestconfig.getoption("timeout")
    stated_s = pytestconfig.invocation_params.args
    assert limit_s is not None
    if not any(str(word).startswith("--timeout") for word in stated_s):
        assert limit_s == bounds.scaled(float(pytestconfig.getini("timeout")))
