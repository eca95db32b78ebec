"""Signatures: what a block declares, and where a value does not have its type."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone_abi import (
    InvalidSignature,
    Json,
    Signature,
    mismatches,
    parse_signature,
    parse_type,
)
from cuttlebone_abi.signatures import (
    SIGNATURE_BYTES_MAX,
    SIGNATURE_DEPTH_MAX,
    ListOf,
    Record,
    Scalar,
    Type,
)

NAMES = ["text", "number", "bool", "bytes", "image", "document", "json"]

field_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
types: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from(NAMES).map(Scalar),
    lambda inner: (
        st.builds(ListOf, inner)
        | st.dictionaries(field_names, inner, max_size=4).map(
            lambda fields: Record(tuple(fields.items()))
        )
    ),
    max_leaves=8,
)


def faults(value: Json, kind: str) -> list[str]:
    return [str(mismatch) for mismatch in mismatches(value, parse_type(kind))]


@given(types)
def test_a_type_is_the_same_when_written_and_read_again(kind: Type) -> None:
    assert parse_type(str(kind)) == kind


@given(st.text("[]{}:,abt ext", max_size=40))
def test_any_text_is_a_type_or_an_invalid_signature(text: str) -> None:
    with suppress(InvalidSignature):
        kind = parse_type(text)
        assert parse_type(str(kind)) == kind


def test_a_block_that_does_not_say_takes_and_gives_json() -> None:
    assert str(Signature()) == "json -> json"


@pytest.mark.parametrize("value", [None, 1, "a", [], {}])
@pytest.mark.parametrize("kind", ["json", "bytes", "image", "document"])
def test_some_types_accept_any_value(kind: str, value: Json) -> None:
    assert faults(value, kind) == []


@pytest.mark.parametrize(
    ("kind", "good", "bad", "said"),
    [
        ("text", "a", 1, "$: should be text, but is a number"),
        ("number", 1, True, "$: should be number, but is a bool"),
        ("number", 1.5, "1", "$: should be number, but is text"),
        ("bool", False, 0, "$: should be bool, but is a number"),
        ("[text]", [], {}, "$: should be [text], but is an object"),
        ("{a: text}", {"a": "b"}, ["a"], "$: should be {a: text}, but is a list"),
        ("{}", {}, None, "$: should be {}, but is null"),
    ],
)
def test_a_value_has_its_type_or_the_place_is_named(
    kind: str, good: Json, bad: Json, said: str
) -> None:
    assert faults(good, kind) == []
    assert faults(bad, kind) == [said]


def test_records_are_open() -> None:
    assert faults({"a": "b", "more": 1}, "{a: text}") == []


def test_every_wrong_place_is_named_in_order() -> None:
    value = {"items": [{"name": "a"}, {"name": 2}, "c"]}

    assert faults(value, "{items: [{name: text}], total: number}") == [
        "$.items[1].name: should be text, but is a number",
        "$.items[2]: should be {name: text}, but is text",
        "$.total: missing; the block declares it as number",
    ]


def test_a_type_may_nest_as_deep_as_the_limit_says() -> None:
    deep = "[" * SIGNATURE_DEPTH_MAX + "text" + "]" * SIGNATURE_DEPTH_MAX

    assert str(parse_type(deep)) == deep


def test_a_deeper_type_is_refused_with_the_limit() -> None:
    with pytest.raises(InvalidSignature, match="at most 32 levels"):
        parse_type("{a: " * 33 + "text" + "}" * 33)


def test_a_type_may_have_as_many_bytes_as_the_limit_says() -> None:
    assert parse_type("text".ljust(SIGNATURE_BYTES_MAX)) == Scalar("text")


def test_a_longer_type_is_refused_with_the_limit() -> None:
    with pytest.raises(InvalidSignature, match=f"at most {SIGNATURE_BYTES_MAX} bytes"):
        parse_type("text".ljust(SIGNATURE_BYTES_MAX + 1))


def test_a_refusal_stays_short_whatever_a_block_declares() -> None:
    for text in ("x" * 60_000, "{" + "a: text, " * 5_000 + "}", "text " * 10_000):
        with pytest.raises(InvalidSignature) as refusal:
            parse_type(text)

        assert len(str(refusal.value)) < 300


def test_a_signature_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidSignature, match="cf_signature is not JSON"):
        parse_signature(b"\xff")
