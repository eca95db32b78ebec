"""Reaching into a document of known shape without asking at each step whether a part is there."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cuttlebone.text.json_values import Json

_ABSENT: Final[Mapping[str, Json]] = MappingProxyType({})


def section(document: Mapping[str, Json], *path: str | int) -> Mapping[str, Json]:
    """Give the object that a path of keys leads to, empty if it is not there."""
    found: Mapping[str, Json] = document
    for key in path:
        inner = found.get(str(key))
        found = inner if isinstance(inner, dict) else _ABSENT
    return found
