"""Pins of an intake are repeated in the manifest with values that are equal as JSON."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bench.manifests import SMALLEST, errors_of
from cuttlebone.bench.manifest import broken_pins, check_manifest, pins_of

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


@given(PLAIN_JSON)
def test_every_value_keeps_its_own_pin(value: Any) -> None:
    assert broken_pins({"a": value}, {"a": value, "b": 1}) == ()
