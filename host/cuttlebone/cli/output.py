"""What commands write: results as JSON on stdout, complaints on stderr, nothing that moves a cursor."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WHOLE: Final = 100_000
"""Columns that no row has, so that a program reads each row as one line."""

_MAYBE_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\n]")


def json_text(value: Any, *, pretty: bool) -> str:
    """Write a JSON value. Whatever is not printable is escaped, so it is safe to show.

    JSON itself leaves control characters above U+001F as they are, and some of these, such as
    U+009B, start an escape sequence in a terminal. Escaped, they are the same JSON.
    """
    text = json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        indent=2 if pretty else None,
        separators=None if pretty else (",", ":"),
    )
    return _MAYBE_UNPRINTABLE.sub(_escaped, text)


def write_json(value: Any, *, pretty: bool) -> None:
    """Write a JSON value and a line end to stdout, at once."""
    sys.stdout.write(json_text(value, pretty=pretty) + "\n")
    sys.stdout.flush()


def write_line(text: str = "") -> None:
    """Write a line to stdout."""
    sys.stdout.write(shown(text) + "\n")
    sys.stdout.flush()


def write_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to stdout, folded to the width of a terminal and whole into a pipe."""
    table = Table(*titles, box=None, pad_edge=False)
    for row in rows:
        # Text, because Rich looks for markup in strings, and these come from elsewhere.
        table.add_row(*(Text(shown(cell), overflow="fold") for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WHOLE
    console.print(table)


def write_note(text: str) -> None:
    """Write a line for a person to stderr."""
    sys.stderr.write(shown(text) + "\n")
    sys.stderr.flush()


def complain(
    code: str, message: str, faults: Sequence[tuple[str, str]] = (), *, as_json: bool
) -> None:
    """Say on stderr why something was not done; `faults` are pointers into the input with reasons.

    With `as_json` it is one line: `{"error": {"code", "message", "faults"?}}`.
    """
    if as_json:
        error: dict[str, Any] = {"code": code, "message": message}
        if faults:
            error["faults"] = [{"pointer": where, "message": reason} for where, reason in faults]
        sys.stderr.write(json_text({"error": error}, pretty=False) + "\n")
        return
    write_note(f"error: {message}")
    for where, reason in faults:
        write_note(f"  {where}: {reason}")


def shown(text: str) -> str:
    """Escape whatever could move a cursor, but keep line ends."""
    return _MAYBE_UNPRINTABLE.sub(_backslashed, text)


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else json.dumps(char)[1:-1]


def _backslashed(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
