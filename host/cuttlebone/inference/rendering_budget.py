"""What one rendering of a template may still do: a bound on its memory and on its processor time."""

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Final

RENDER_S_MAX: Final = 1.0
UNITS_MIN: Final = 2 << 20
"""What every rendering may spend. A unit is a character that is made, or a value, or a step."""
UNITS_PER_CONTENT_CHAR: Final = 256
"""What it may spend besides for each character of the conversation: some templates keep all turns so
far in one text and make it anew for each turn."""
UNITS_MAX: Final = 128 << 20
"""What no rendering may pass, however long the conversation."""

VALUES_MAX: Final = 1 << 18
"""Values in one list or mapping, with repetition: comparing or hashing two of them is one operation
of the interpreter, which nothing interrupts."""

_CHARS_READ_A_UNIT: Final = 64
_UNITS_BETWEEN_LOOKS: Final = 64


class TooMuch(Exception):
    """A template asks for more than a rendering may have."""


class RenderingBudget:
    """Owner: one rendering. Spent before the work is done, so that nothing dear is ever begun.

    What was made is never given back: the total bounds the memory, whatever is still alive.
    """

    def __init__(
        self,
        content_chars: int,
        *,
        check_wanted: Callable[[], None] = lambda: None,
        processor_s: Callable[[], float] = time.thread_time,
    ) -> None:
        """`check_wanted` is called again and again; what it raises ends the rendering."""
        self._units_max = min(UNITS_MIN + UNITS_PER_CONTENT_CHAR * content_chars, UNITS_MAX)
        self._left = self._units_max
        self._look_below = self._left
        self._check_wanted = check_wanted
        # Of this thread alone: on a busy machine a good template must not run out of time.
        self._processor_s = processor_s
        self._end_s = processor_s() + RENDER_S_MAX

    def spend(self, units: int) -> None:
        """Take off `units`; raise TooMuch if there are not so many left, or the time is over."""
        self._left -= units
        if self._left < 0:
            raise TooMuch(f"it makes more than {self._units_max} characters, values and steps")
        if self._left < self._look_below:
            self._look_below = self._left - _UNITS_BETWEEN_LOOKS
            self._check_wanted()
            if self._processor_s() > self._end_s:
                raise TooMuch(f"rendering took longer than {RENDER_S_MAX} s")

    def read(self, *values: object) -> None:
        """Spend for operations that go through values once."""
        self.spend(sum(map(_units_to_read, values)))

    def write(self, value: object) -> None:
        """Spend for a value written out as text."""
        for item in [value] if isinstance(value, str) else _values_in(value):
            self.spend(1 + len(item) if isinstance(item, str) else 1)

    def keep(self, value: object) -> None:
        """Spend for a list or mapping that was made; raise TooMuch if it holds too much."""
        values = sum(1 for _ in islice(_values_in(value), VALUES_MAX + 1))
        if values > VALUES_MAX:
            raise TooMuch(f"a list or mapping of more than {VALUES_MAX} values, with repetition")
        self.spend(values)

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:  # whatever a template loops over
        """Spend a unit for each item that is taken."""
        for item in items:
            self.spend(1)
            yield item


def _units_to_read(value: object) -> int:
    match value:
        case str():
            return 1 + len(value) // _CHARS_READ_A_UNIT
        case Sized():
            return 1 + len(value)
        case _:
            return 1


def _values_in(value: object) -> Iterator[object]:
    """A value and all in it, with repetition.

    A list that holds the same list twice, and so on, is small in memory and endless in print.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        yield item
        match item:
            case dict():
                pending.extend(item)
                pending.extend(item.values())
            case list() | tuple() | set() | frozenset():
                pending.extend(item)
            case _:
                pass
