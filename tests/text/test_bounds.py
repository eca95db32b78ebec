"""Bounds in few words: what a person reads beside the value that is wrong."""

import pytest

from cuttlebone.text.bounds import in_few_words


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("Input should be greater than or equal to 1", "at least 1"),
        ("should be less than or equal to 65535", "at most 65535"),
        ("should be greater than 0", "more than 0"),
        ("Input should be a valid integer, unable to parse string as an integer", "a whole number"),
        ("should be a valid number, unable to parse string as a number", "a number"),
        ("Value error, 'x' is not one of 'a', 'b'.", "one of 'a', 'b'"),
        ("Value error, nests deeper than 128", "nests deeper than 128"),
        ("given twice", "given twice"),
    ],
)
def test_a_bound_is_said_in_few_words(requirement: str, words: str) -> None:
    assert in_few_words(requirement) == words
