"""Windows of UTF-8 text out of a file of bytes: where they end, what they hold, what is refused.

Pure: bytes come from a callable. A *part* is what UTF-8 decoding takes as one: a whole character,
or a maximal invalid part in the sense of the Unicode Standard (section 3.9, substitution of
maximal subparts). Every sequence of bytes has exactly one division into parts, and a window
never ends inside one.
"""

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from cuttlebone.errors import CommandError
from cuttlebone_abi import ErrorCode

PART_BYTES_MAX: Final = 4
"""The longest character of UTF-8; a window of this many bytes always moves on."""

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

Pread: TypeAlias = Callable[[int, int], bytes]
"""`pread(length, offset)` returns exactly `length` bytes; it is never asked to read past the end."""


@dataclass(frozen=True, slots=True)
class Window:
    """Text, and the byte offset in the file at which it ends."""

    text: str
    next_offset: int


@dataclass(frozen=True, slots=True)
class _Part:
    length: int
    valid: bool


def read_window(
    pread: Pread,
    size: int,
    offset: int,
    length: int,
    *,
    window_bytes_max: int,
    replace_invalid: bool,
) -> Window:
    """Read the text of at most `length` bytes at `offset` of a file of `size` bytes.

    Raises CommandError: `limit_exceeded` if `length` passes `window_bytes_max` and the file has more
    there; `invalid_argument` for an offset past the end or inside a character and for a window
    narrower than the part at `offset`; `not_text` for a byte at `offset` that is not
    UTF-8. With `replace_invalid` a window may start anywhere and its text is that of the bytes
    from `offset` on, each maximal invalid part as one U+FFFD.
    """
    width = _width(size, offset, length, window_bytes_max)
    if width == 0:
        return Window("", offset)
    data = pread(width, offset)
    text, taken = _decode(data, at_end=offset + width == size, replace_invalid=replace_invalid)
    if taken:
        return Window(text, offset + taken)
    if replace_invalid:
        return _replaced_part(pread, size, offset, width)
    raise _refusal(pread, size, offset, width)


def read_bytes(
    pread: Pread, size: int, offset: int, length: int, *, window_bytes_max: int
) -> bytes:
    """Read at most `length` bytes at `offset`; raise CommandError for an offset past the end.

    `limit_exceeded` if `length` passes `window_bytes_max` and the file has more there.
    """
    width = _width(size, offset, length, window_bytes_max)
    return pread(width, offset) if width else b""


def _width(size: int, offset: int, length: int, window_bytes_max: int) -> int:
    """How many bytes a window has; raise CommandError for what `read_bytes` names."""
    if offset > size:
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"offset {offset} lies past the end of the file, which has {size} bytes",
        )
    width = min(length, size - offset)
    # Never cut to the limit: a block that asks for a whole file would take its beginning for it.
    if width > window_bytes_max:
        raise CommandError(
            ErrorCode.LIMIT_EXCEEDED,
            f"window_bytes: {length} bytes were asked for and the file has {size - offset} more at "
            f"offset {offset}, but at most {window_bytes_max} are read at once; walk by `next_offset`, "
            "or raise `limits.window_bytes` in the spec (at most `limits.memory_bytes`)",
        )
    return width


def _decode(data: bytes, *, at_end: bool, replace_invalid: bool) -> tuple[str, int]:
    """Decode whole parts at the speed of C; return their text and how many bytes they have.

    An unfinished character at the end of `data` is left for the next window, unless the file
    ends there: then it is an invalid part like any other.
    """
    try:
        return codecs.utf_8_decode(data, "replace" if replace_invalid else "strict", at_end)
    except UnicodeDecodeError as error:
        return data[: error.start].decode(), error.start


def _replaced_part(pread: Pread, size: int, offset: int, width: int) -> Window:
    """Answer for a window that holds nothing but the start of something."""
    part = _first_part(pread(min(PART_BYTES_MAX, size - offset), offset))
    # Bytes after the window may show that what looked like an unfinished character is none.
    if part.valid or part.length > width:
        raise _too_narrow(part, offset, width)
    return Window(REPLACEMENT, offset + part.length)


def _refusal(pread: Pread, size: int, offset: int, width: int) -> CommandError:
    """Say why no text starts at `offset`. Only here are the bytes around it looked at."""
    before = min(PART_BYTES_MAX - 1, offset)
    start = offset - before
    around = pread(min(offset + PART_BYTES_MAX, size) - start, start)
    for back in range(1, before + 1):
        part = _first_part(around[before - back :])
        if part.valid and part.length > back:
            return CommandError(
                ErrorCode.INVALID_ARGUMENT,
                f"offset {offset} lies inside a character: it starts at {offset - back} "
                f"and the next one at {offset - back + part.length}",
            )
    part = _first_part(around[before:])
    if part.valid:
        return _too_narrow(part, offset, width)
    return CommandError(
        ErrorCode.NOT_TEXT,
        f"byte 0x{around[before]:02x} at offset {offset} is not UTF-8; "
        'slice with "invalid":"replace" to read past it',
    )


def _too_narrow(part: _Part, offset: int, width: int) -> CommandError:
    what = "character" if part.valid else "invalid part"
    return CommandError(
        ErrorCode.INVALID_ARGUMENT,
        f"the {what} at offset {offset} needs a window of {part.length} bytes, "
        f"but this one has {width}; {PART_BYTES_MAX} bytes are always enough",
    )


def _first_part(data: bytes) -> _Part:
    """Measure the part that `data`, not empty, starts with; four bytes are enough to tell."""
    head = data[:PART_BYTES_MAX]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start == 0:
            return _Part(error.end, valid=False)
        text = head[: error.start].decode()
    return _Part(len(text[0].encode()), valid=True)
