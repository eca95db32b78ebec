"""A JSON value from the outside in: each value in it, with the way that leads there."""

from collections.abc import Iterator
from typing import Any, TypeAlias

Location: TypeAlias = tuple[int | str, ...]
"""Keys and indices that lead from a value to one inside it."""


def walk(value: object) -> Iterator[tuple[Any, Location]]:
    """Give a value and all in it, in the order of the document, outer before inner.

    Without recursion, so that no nesting exhausts the stack. What is given is not yet entered: who
    bounds the depth stops at the first item that is too deep, also in a list that holds itself.
    """
    pending: list[tuple[Any, Location]] = [(value, ())]
    while pending:
        item, location = pending.pop()
        yield item, location
        if isinstance(item, dict):
            pending.extend((child, (*location, key)) for key, child in reversed(item.items()))
        elif isinstance(item, list):
            pending.extend((item[at], (*location, at)) for at in reversed(range(len(item))))
