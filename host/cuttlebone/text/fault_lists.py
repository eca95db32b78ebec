"""How many faults of one kind are told: whoever mends the first ones seldom needs the others."""

from collections.abc import Iterable
from itertools import islice
from typing import Final, TypeVar

FAULTS_SHOWN_MAX: Final = 16
POINTER_CHARS_MAX: Final = 1_024

T = TypeVar("T")


def first_faults(faults: Iterable[T]) -> tuple[list[T], int]:
    """Return the first FAULTS_SHOWN_MAX faults, and how many there are beyond them.

    The others are counted and not kept, so that a list costs as much as it shows.
    """
    left = iter(faults)
    shown = list(islice(left, FAULTS_SHOWN_MAX))
    return shown, sum(1 for _ in left)


def and_more(count: int) -> str:
    """The line below the faults that are shown."""
    return f"and {count} more"


def lines_of(faults: Iterable[str]) -> str:
    """Faults as lines, the first ones and how many more there are."""
    shown, more = first_faults(faults)
    return "\n".join([*shown, and_more(more)] if more else shown)


def cut_pointer(pointer: str) -> str:
    """Cut a pointer whose keys somebody made long; a cut one ends in `…`."""
    if len(pointer) <= POINTER_CHARS_MAX:
        return pointer
    return pointer[: POINTER_CHARS_MAX - 1] + "…"
