"""Long lines of a difference, cut to where they part, with a mark there."""

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Final

LINE_CHARS_MAX: Final = 100
"""A longer line is cut."""
BEFORE_CHARS: Final = 40
"""What is shown of a line before the place where it parts from the other."""


def marked(lines: Sequence[str]) -> list[str]:
    """Lines of a unified diff; where two long ones stand for each other, a third one marks where they part."""
    found: list[str] = []
    removed: list[str] = []
    for sign, group in groupby(lines, key=_sign):
        match sign:
            case "-":
                removed = list(group)
            case "+":
                found.extend(_beside(removed, list(group)))
                removed = []
            case _:
                found.extend(_beside(removed, []))
                found.extend(_cut(line, 1) for line in group)
                removed = []
    return [*found, *_beside(removed, [])]


def _sign(line: str) -> str:
    return "" if line.startswith(("---", "+++", "@@")) else line[:1]


def _beside(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Lines that went and lines that came, in the order of a diff; long ones pair by pair."""
    pairs = list(zip_longest(removed, added))
    if max(map(len, (*removed, *added)), default=0) <= LINE_CHARS_MAX:
        yield from removed
        yield from added
        return
    for old, new in pairs:
        yield from _pair(old, new)


def _pair(old: str | None, new: str | None) -> Iterator[str]:
    if old is None or new is None:
        yield from (_cut(line, 1) for line in (old, new) if line is not None)
        return
    different = (at for at, (one, other) in enumerate(zip_longest(old, new)) if one != other)
    parted = next((at for at in different if at), len(old))  # the signs differ as well
    shown_from = max(1, parted - BEFORE_CHARS)
    yield _cut(old, shown_from)
    yield _cut(new, shown_from)
    lead = 1 + (shown_from > 1) + parted - shown_from
    yield f"?{' ' * (lead - 1)}^ they part at character {parted} of the line"


def _cut(line: str, shown_from: int) -> str:
    """What is shown of a line: its sign, and so many characters from a place on."""
    if len(line) <= LINE_CHARS_MAX and shown_from == 1:
        return line
    shown = line[shown_from : shown_from + LINE_CHARS_MAX]
    rest = len(line) - shown_from - len(shown)
    before = "…" if shown_from > 1 else ""
    after = f"… and {rest} more" if rest else ""
    return f"{line[0]}{before}{shown}{after}"
