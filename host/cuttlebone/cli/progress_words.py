"""What a block tells of its progress, and how fast a job went, in words for a person."""

from typing import Final

from cuttlebone.cli.output import json_text
from cuttlebone_abi import Json

NARROW_COLUMNS: Final = 60
_BAR_CHARS: Final = 20
_SHORT_BAR_CHARS: Final = 8


def progress_words(progress: Json, *, columns: int) -> str:
    """Write a bar for `{done, total, unit}`, text as it is, plain fields as words, else JSON."""
    match progress:
        case str():
            return progress
        case {"done": int() | float() as done, "total": int() | float() as total, **rest} if (
            _are_counts(done, total) and rest.keys() <= {"unit"}
        ):
            unit = rest.get("unit")
            return _bar(done, total, unit if isinstance(unit, str) else "", columns)
        case dict() if progress and not any(
            isinstance(value, dict | list) for value in progress.values()
        ):
            return ", ".join(f"{_words(name)} {_plain(one)}" for name, one in progress.items())
        case _:
            return json_text(progress, pretty=False)


def pace_words(envelope: Json, *, watched_s: float) -> str:
    """Say how long a job was watched and, if it generated, its tokens a second of its running time."""
    words = f" after {watched_s:.1f} s"
    match envelope:
        case {"usage": {"tokens_out": int(tokens), "duration_ms": int(running_ms)}} if tokens:
            words += f", {tokens} tokens"
            if running_ms:
                words += f", {tokens * 1000 / running_ms:.1f} tokens/s"
    return words


def _are_counts(done: float, total: float) -> bool:
    return not isinstance(done, bool) and not isinstance(total, bool) and 0 <= done <= total > 0


def _bar(done: float, total: float, unit: str, columns: int) -> str:
    chars = _SHORT_BAR_CHARS if columns < NARROW_COLUMNS else _BAR_CHARS
    full = int(chars * done / total)
    bar = "█" * full + "░" * (chars - full)
    return f"{bar} {done / total:4.0%}  {_plain(done)} of {_plain(total)} {unit}".rstrip()


def _words(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value, pretty=False)
