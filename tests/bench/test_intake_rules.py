"""The run rules of an intake: one value each, and where it came from."""

from typing import Any

import pytest

from bench.intakes import SMALLEST, TODAY, checked, errors_of, normalised
from cuttlebone.bench.intake import check_intake
from cuttlebone.text.documents import read_document


@pytest.mark.parametrize(
    ("change", "source", "value"),
    [
        ({"goals": {"after_target": "stop"}}, "goals.after_target", "stop"),
        ({"constraints": "after_target: keep_climbing"}, "constraints", "keep_climbing"),
        (
            {"non_interactive": True},
            "default: keep_climbing, because non_interactive is true",
            "keep_climbing",
        ),
        (
            {"budget": {"usd": 1}},
            "default: keep_climbing, because budget.usd is set",
            "keep_climbing",
        ),
        (
            {"budget": {"deadline": "2030-01-01T00:00Z"}},
            "default: stop, because nothing bounds the run",
            "stop",
        ),
    ],
)
def test_the_source_of_a_rule_is_recorded_and_kept(
    change: dict[str, Any], source: str, value: str
) -> None:
    first = checked({**SMALLEST, **change})
    second = check_intake(first.normalised, today=TODAY)
    for report in (first, second):
        normalised: Any = report.normalised
        assert normalised["goals"]["after_target"] == value
        assert normalised["rule_sources"]["after_target"] == source


def test_a_preference_gives_fidelity() -> None:
    for preference, fidelity in (("exact", "lossless"), ("balanced", "lossy"), ("speed", "lossy")):
        first = checked({**SMALLEST, "quality": {"preference": preference}})
        second = check_intake(first.normalised, today=TODAY)
        for report in (first, second):
            assert report.rules["fidelity"].value == fidelity
            assert report.rules["fidelity"].source == "quality.preference"


def test_a_field_that_was_filled_in_and_then_changed_by_hand_is_a_statement() -> None:
    changed = normalised(SMALLEST)
    changed["goals"]["after_target"] = "keep_climbing"
    rules = checked(changed).rules
    assert rules["after_target"].value == "keep_climbing"
    assert rules["after_target"].source == "goals.after_target"


def test_a_foreign_default_is_kept_as_it_was_written() -> None:
    intake = {
        **SMALLEST,
        "fidelity": "lossless",
        "rule_sources": {"fidelity": "default: house rule"},
    }
    assert checked(intake).rules["fidelity"].source == "default: house rule"


@pytest.mark.parametrize("source", ["constraints", "by hand", "default:", ""])
def test_a_source_that_cannot_be_is_corrected(source: str) -> None:
    intake = {**SMALLEST, "fidelity": "lossless", "rule_sources": {"fidelity": source}}
    assert checked(intake).rules["fidelity"].source == "fidelity"


@pytest.mark.parametrize(
    "constraints",
    [
        "route: patch",
        " route :patch ",
        ["be quick", "route: patch"],
        ["no cloud; route: patch; be nice: really"],
        ["route: patch", "route: patch;"],
        "x;;route: patch",
        "be quick\nroute: patch\n",
    ],
)
def test_rules_are_read_in_free_text(constraints: Any) -> None:
    assert checked({**SMALLEST, "constraints": constraints}).rules["route"].value == "patch"


@pytest.mark.parametrize(
    "constraints",
    ["Route: patch", "route patch", "the route: patch", "route, patch", "routes: patch", []],
)
def test_other_free_text_is_left_alone(constraints: Any) -> None:
    assert checked({**SMALLEST, "constraints": constraints}).rules["route"].value == "build"


@pytest.mark.parametrize(
    ("intake", "pointer"),
    [
        ({"constraints": ["a", "fidelity: high"]}, "/constraints/1"),
        ({"constraints": "speculation: on"}, "/constraints"),
        ({"constraints": "route:"}, "/constraints"),
        ({"constraints": ["route: patch", "route: build"]}, "/constraints/1"),
        ({"constraints": "route: patch; route: build"}, "/constraints"),
        (
            {"goals": {"after_target": "stop"}, "constraints": ["after_target: keep_climbing"]},
            "/constraints/0",
        ),
        ({"fidelity": "lossless", "quality": {"preference": "speed"}}, "/quality/preference"),
    ],
)
def test_a_rule_has_one_value_and_a_known_one(intake: dict[str, Any], pointer: str) -> None:
    assert errors_of({**SMALLEST, **intake}) == [pointer]


def test_a_contradiction_does_not_hide_what_is_wrong_with_the_budget() -> None:
    intake = {**SMALLEST, "constraints": "route: x", "budget": {"deadline": "soon"}}
    assert errors_of(intake) == ["/constraints", "/budget/deadline"]


def test_an_unquoted_rule_in_a_yaml_list_is_a_mapping_and_refused() -> None:
    text = "model: {id: a}\nmodality: llm\nhardware: {gpu: x}\nconstraints:\n- speculation: off\n"
    report = check_intake(read_document(text.encode()), today=TODAY)
    (found,) = report.errors
    assert found.pointer == "/constraints/0"
    assert found.message == "an object must be text; in YAML, quote it"
