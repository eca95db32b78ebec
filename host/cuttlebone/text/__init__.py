"""Outside strings made safe to show: in logs, messages and terminals."""

from typing import Final

SHOWN_CHARS_MAX: Final = 256


def printable(text: str, *, chars_max: int = SHOWN_CHARS_MAX) -> str:
    """Escape whatever could move a cursor or break a line, and cut to `chars_max` characters."""
    cut = text if len(text) <= chars_max else text[: chars_max - 1] + "…"
    return "".join(char if char.isprintable() else _escape(char) for char in cut)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
