"""Environment variables that look like settings and are none: most often misspelt ones."""

import difflib
from collections.abc import Iterable
from typing import Final

from cuttlebone.settings import Settings
from cuttlebone.text import printable

PREFIX: Final = "CUTTLEBONE_"
_OTHERS: Final = ("CONFIG", "URL", "TOKEN", "ENDPOINTS")
"""Variables of the command line and of clients."""


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Name each variable that nothing reads, with the one that was probably meant."""
    known = [PREFIX + name for name in (*map(str.upper, Settings.model_fields), *_OTHERS)]
    stray = sorted(name for name in names if name.upper().startswith(PREFIX))
    return [
        f"{printable(name)} is no setting{_meant(name, known)}"
        for name in stray
        if name.upper() not in known
    ]


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""
