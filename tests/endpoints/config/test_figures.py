"""What the loose words of a roster mean: memory, backend, latency."""

import pytest

from cuttlebone.endpoints.config.roster.figures import flavour_of, guessed_latency, weights_bytes
from cuttlebone.endpoints.config.spec import LatencyClass


@pytest.mark.parametrize(
    ("figure", "count"),
    [
        (4096, 4_096_000_000_000),
        (4096.0, 4_096_000_000_000),
        (0, 0),
        (-0.0, 0),
        ("-0", 0),
        (" ~~1.5\t", 1_500_000_000),
        ("\u00a0~1\u3000", 1_000_000_000),
        ("+1E1", 10_000_000_000),
        ("1e-10", 0),
        (4.1, 4_099_999_999),
    ],
)
def test_a_figure_is_decimal_gigabytes_as_a_float(figure: object, count: int) -> None:
    assert weights_bytes(figure) == count


@pytest.mark.parametrize(
    "figure",
    [
        4097,
        4096.0001,
        -1,
        -1e-9,
        10**400,
        float("inf"),
        float("nan"),
        "nan",
        "-inf",
        "1e999",
        True,
        False,
        None,
        [],
        {},
        "~",
        "",
        "1_0",
        "0x10",
        "1 GB",
        "~ 1",
        "1~",
        "1\x1c",
        "\u0661",
        "~\n1",
        b"1",
    ],
)
def test_what_is_no_figure_gives_none(figure: object) -> None:
    assert weights_bytes(figure) is None


@pytest.mark.parametrize(
    ("backend", "flavour"),
    [
        ("LLAMA.CPP", "infer.llamacpp"),
        ("\u2003ollama\u00a0x", "infer.ollama"),
        ("ollama\x1cx", None),
        ("ollama\x0bx", "infer.ollama"),
        ("\u212aollama", None),
        ("o\u0131lama", None),
        ("", None),
        ("llamacpp;", None),
    ],
)
def test_a_backend_word_ends_at_white_space(backend: str, flavour: str | None) -> None:
    assert flavour_of(backend) == flavour


def test_letters_are_lowered_in_ascii_only() -> None:
    assert guessed_latency("a", "VO\u0130CE") is LatencyClass.BATCH
    assert guessed_latency("REAL", "TIME") is LatencyClass.BATCH
    assert guessed_latency("x-realTIME", "") is LatencyClass.INTERACTIVE
