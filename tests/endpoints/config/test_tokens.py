"""The grammars of endpoint specs, against what Python would take instead."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.endpoints.config.spec.tokens import is_flag_value, is_number, is_plain_token


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "+1",
        "-1",
        "1.",
        ".5",
        "-.5",
        "1e9",
        "1E-9",
        "1.e+9",
        "inf",
        "-INF",
        "Infinity",
        "nan",
        "+NaN",
        "00012",
        "1e0005",
    ],
)
def test_these_are_numbers(text: str) -> None:
    assert is_number(text)
    assert not math.isnan(float(text)) or "n" in text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "-",
        "+",
        "-.",
        "e1",
        ".e1",
        "1e",
        "1e+",
        "1_000",
        "-1_0",
        "0x10",
        "-0x1p3",
        "--1",
        "+-1",
        " 1",
        "1 ",
        "1\n",
        "1\x00",
        "\u0661",
        "-\u0661",
        "\uff11",
        "infinit",
        "infin",
        "nan1",
        "1f",
        "\u0131nf",
        "\u017f",
        "1e1.5",
        "1,5",
    ],
)
def test_these_are_no_numbers(text: str) -> None:
    assert not is_number(text)


@given(st.text(alphabet="0123456789+-.eEinfatyNAF_x \n\u0661"))
def test_every_number_is_one_that_python_reads(text: str) -> None:
    if is_number(text):
        float(text)
    elif text.isascii() and "_" not in text and text == text.strip():
        with pytest.raises(ValueError, match="could not convert"):
            float(text)


@given(st.text(), st.integers(0, 300))
def test_a_plain_token_is_ascii_and_short(text: str, bytes_max: int) -> None:
    if is_plain_token(text, bytes_max):
        assert text.isascii()
        assert 1 <= len(text.encode()) <= bytes_max
        assert text[0].isalnum()
        assert set(text) <= set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+:-"
        )


@pytest.mark.parametrize(
    "text", ["a\n", "a\r", "\na", "a%", "a~", "a,b", "_a", "+a", "\u212a", "\ud800"]
)
def test_these_are_no_plain_tokens(text: str) -> None:
    assert not is_plain_token(text, 64)


@pytest.mark.parametrize(
    "text", ["-1e400", "-nan", "-00", "-1.5e+3", "/etc/x", "a:b", "+", "+-", "."]
)
def test_these_are_flag_values(text: str) -> None:
    assert is_flag_value(text)


@pytest.mark.parametrize(
    "text", ["-\n1", "-1\n", "\u0661", "-\uff11", "a\\b", "a,b", "a@b", "-1e", "-x", "-"]
)
def test_these_are_no_flag_values(text: str) -> None:
    assert not is_flag_value(text)
