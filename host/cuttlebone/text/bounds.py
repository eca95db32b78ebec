"""Bounds on a value in few words, to follow what was stated, in place of those of a validator."""

import re
from typing import Final

_BOUNDS: Final = (
    (re.compile(r"greater than or equal to (\S+)"), r"at least \1"),
    (re.compile(r"less than or equal to (\S+)"), r"at most \1"),
    (re.compile(r"greater than (\S+)"), r"more than \1"),
    (re.compile(r"less than (\S+)"), r"less than \1"),
    (re.compile(r"a valid (?:integer|int).*"), "a whole number"),
    (re.compile(r"a valid number.*|a valid float.*"), "a number"),
    (re.compile(r".* is not one of (.+)\."), r"one of \1"),
)
_LEAD: Final = re.compile(r"^(?:Value error, )?(?:(?:Input )?should be )?")


def in_few_words(requirement: str) -> str:
    """Say a requirement such as `Input should be less than or equal to 200` as `at most 200`.

    One that is no bound stays as it is, but for the words with which validators begin.
    """
    plain = _LEAD.sub("", requirement)
    for form, words in _BOUNDS:
        if form.fullmatch(plain):
            return form.sub(words, plain)
    return plain
