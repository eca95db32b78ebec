"""The overlay of a roster import."""

import pytest

from cuttlebone.endpoints.config.roster import (
    Overlay,
    RosterFault,
    RosterRefused,
    SkipReason,
    import_roster,
    read_overlay,
)
from cuttlebone.endpoints.config.spec import LatencyClass

ENTRY = "{id: a, backend: ollama, ram_gb: 1}"


def test_an_overlay_is_judged_with_the_spec() -> None:
    (row,) = import_roster(f"roster:\n- {ENTRY}\n", Overlay(excludes={"a": ("b c",)})).skipped
    assert row.reason is SkipReason.SPEC
    assert 'excludes[0]: "b c" is no plain token' in row.message


def test_roles_in_an_overlay_are_text_as_written() -> None:
    overlay = read_overlay(
        "sticky: {007: false}\nexcludes: {yes: [1, ~]}\nlatency_class: {null: 'batch'}\n"
    )
    assert overlay.sticky == {"007": False}
    assert overlay.excludes == {"yes": ("1", "~")}
    assert overlay.latency_class == {"null": LatencyClass.BATCH}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no document"),
        ("[]", "an overlay is a mapping"),
        ("Sticky: {}", 'unknown key "Sticky"; known are excludes, latency_class, sticky'),
        ("sticky: ~", "sticky is a mapping"),
        ("sticky: {a: yes}", 'sticky is "yes"; it must be true or false'),
        ("sticky: {a: 1}", "true or false"),
        ("sticky: {a: ~}", "true or false"),
        ("sticky: {a: [true]}", "a list or mapping"),
        ("latency_class: {a: Batch}", '"Batch"; it must be interactive or batch'),
        ("latency_class: {a: }", "interactive or batch"),
        ("latency_class: {a: [batch]}", "a list or mapping"),
        ("excludes: {a: ~}", "a list of role names"),
        ("excludes: {a: [[b]]}", "a list of role names"),
        ("excludes: {a: {b: c}}", "a list of role names"),
        ("sticky: {a: true, a: true}", "second time"),
        ("#" * (1 << 20) + "\nsticky: {}", "more than 1048576 bytes"),
    ],
)
def test_an_overlay_of_another_shape_is_refused(text: str, told: str) -> None:
    with pytest.raises(RosterRefused) as refused:
        read_overlay(text)
    assert refused.value.fault is RosterFault.OVERLAY
    assert told in str(refused.value)
