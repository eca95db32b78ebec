"""Where long lines of a difference part is marked, and nothing of a short one is touched."""

from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.authoring.long_lines import BEFORE_CHARS, LINE_CHARS_MAX, marked


def test_short_lines_stay_as_they_are_in_their_order() -> None:
    lines = [
        "--- expected",
        "+++ came",
        "@@ -1,3 +1,4 @@",
        " {",
        "-a",
        "-b",
        "+c",
        "+d",
        "+e",
        " }",
    ]
    assert marked(lines) == lines


def test_a_long_line_that_only_one_side_has_is_cut() -> None:
    for sign in "-+ ":
        assert marked([sign + "x" * 150]) == [sign + "x" * LINE_CHARS_MAX + "… and 50 more"]


def test_a_long_line_that_goes_on_says_how_much_more_there_is() -> None:
    old, new, mark = marked(["-" + "x" * 300 + "y" * 300, "+" + "x" * 300 + "z"])
    assert (
        old == "-…" + "x" * BEFORE_CHARS + "y" * (LINE_CHARS_MAX - BEFORE_CHARS) + "… and 240 more"
    )
    assert new == "+…" + "x" * BEFORE_CHARS + "z"
    assert mark == "?" + " " * (BEFORE_CHARS + 1) + "^ they part at character 301 of the line"


def test_of_several_long_lines_each_stands_over_its_like() -> None:
    signs = [line[0] for line in marked(["-" + "a" * 200, "-b", "+" + "c" * 200, "+d", "+e"])]
    assert "".join(signs) == "-+?-+?+"


@given(st.text("ab", max_size=300), st.text("ab", max_size=300), st.text("ab", min_size=200))
def test_the_mark_stands_under_the_first_character_that_differs(
    common: str, old: str, new: str
) -> None:
    shown = marked([f"-{common}x{old}", f"+{common}y{new}"])
    at = shown[2].index("^")
    assert (shown[0][at], shown[1][at]) == ("x", "y")
