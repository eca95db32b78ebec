"""The vectors of intakes, run manifests and template pins."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from cuttlebone.bench.findings import Report
from cuttlebone.bench.intake import check_intake, intake_shape_faults
from cuttlebone.bench.manifest import broken_pins, check_manifest, manifest_shape_faults
from vector_cases import found, stands_in, vectors

TODAY = date(2026, 1, 31)


@vectors("intake_schema")
def test_an_intake_has_a_closed_shape(given: Any, expected: Any) -> None:
    assert ("reject" if intake_shape_faults(given) else "accept") == expected


@vectors("manifest_schema")
def test_a_manifest_has_a_closed_shape(given: Any, expected: Any) -> None:
    assert ("reject" if manifest_shape_faults(given) else "accept") == expected


@vectors("intake_rules")
def test_an_intake_is_judged_and_filled_in(given: Any, expected: Any) -> None:
    report = check_intake(given, today=TODAY)
    _assert_as_expected(report, expected)
    if report.normalised is not None:
        again = check_intake(report.normalised, today=TODAY)
        assert (again.normalised, again.rules) == (report.normalised, report.rules)


@vectors("manifest_rules")
def test_a_manifest_is_judged_and_filled_in(given: Any, expected: Any) -> None:
    report = check_manifest(given)
    _assert_as_expected(report, expected)
    if report.normalised is not None:
        assert check_manifest(report.normalised) == report


@vectors("template_pins")
def test_pins_are_repeated_with_equal_values(given: Any, expected: Any) -> None:
    broken = broken_pins(given.get("intake_pins"), given.get("manifest_kwargs"))
    assert ("reject" if broken else "accept") == expected


def _assert_as_expected(report: Report, expected: Mapping[str, Any]) -> None:
    assert report.verdict == expected["verdict"], report
    assert (report.normalised is None) is (report.verdict == "reject")
    for key, value in expected.get("resolved", {}).items():
        if value is None:
            # A cap that is not set: left out here, which means the same as null.
            assert not stands_in(report.normalised, key)
            continue
        rule = report.rules.get(key)
        _assert_holds(found(report.normalised, key) if rule is None else rule.value, value)


def _assert_holds(actual: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert {key: actual.get(key) for key in expected} == expected
    else:
        assert actual == expected
