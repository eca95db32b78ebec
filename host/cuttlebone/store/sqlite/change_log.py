"""Reads SQLite's log of changes (the -wal file) frame by frame, also behind one that is damaged.

The format is https://www.sqlite.org/fileformat2.html#the_write_ahead_log. SQLite stops at the first
frame that it cannot trust. The checksum of a frame goes on from the one that stands in the frame
before, so those behind can be trusted again.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_HEADER: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_MAGIC: Final = 0x377F0682
"""Its lowest bit says in which byte order the checksums add up words."""
_SUMMED_HEADER_BYTES: Final = 24
_SUMMED_FRAME_BYTES: Final = 8
_WORD: Final = 0xFFFFFFFF

Sums = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """One page as a transaction left it."""

    page: int
    """From 1."""
    pages_after: int
    """In the database, where this ends a transaction; 0 elsewhere."""
    offset: int
    """Of the page in the log, which may be large."""


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """What can be trusted of a log, in order, and how many frames of it cannot."""

    path: Path
    page_bytes: int
    frames: tuple[Frame, ...]
    damaged: int

    def apply_to(self, database: Path) -> None:
        """Write the pages of all that was committed into a database that nobody has open."""
        ends = [place for place, frame in enumerate(self.frames, start=1) if frame.pages_after]
        if not ends:
            return
        with self.path.open("rb") as log, database.open("r+b") as file:
            for frame in self.frames[: ends[-1]]:
                log.seek(frame.offset)
                file.seek((frame.page - 1) * self.page_bytes)
                file.write(log.read(self.page_bytes))
            file.truncate(self.frames[ends[-1] - 1].pages_after * self.page_bytes)


def read_change_log(path: Path, *, page_bytes: int) -> ChangeLog:
    """Read a log; `page_bytes` counts where its own header is damaged. Raises OSError."""
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return ChangeLog(path, page_bytes, (), 0)
        magic, _, stated_bytes, _, salt_1, salt_2, sum_1, sum_2 = _HEADER.unpack(header)
        order = ">" if magic & 1 else "<"
        sums: Sums | None = (sum_1, sum_2)
        salts = (salt_1, salt_2)
        if magic | 1 != _MAGIC | 1 or _summed((0, 0), header[:_SUMMED_HEADER_BYTES], order) != sums:
            # The first frame says which its salts are, and the sums that the next one goes on from.
            first = file.read(_FRAME.size).ljust(_FRAME.size, b"\0")
            file.seek(_HEADER.size)
            salts, sums, order, stated_bytes = _FRAME.unpack(first)[2:4], None, "<", page_bytes
        trusted, damaged = [], 0
        for frame in _frames(file, stated_bytes, salts, sums, order):
            if frame is None:
                damaged += 1
            else:
                trusted.append(frame)
    return ChangeLog(path, stated_bytes, tuple(trusted), damaged)


def _frames(
    file: IO[bytes], page_bytes: int, salts: tuple[int, ...], sums: Sums | None, order: str
) -> Iterator[Frame | None]:
    """The frames of this log, None for each that cannot be trusted."""
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        data = file.read(page_bytes)
        page, pages_after, salt_1, salt_2, sum_1, sum_2 = _FRAME.unpack(head)
        before, sums = sums, (sum_1, sum_2)
        if (salt_1, salt_2) != salts:
            sums = None  # left over from before the log began anew, or damaged
            continue
        if before is not None and len(data) == page_bytes:
            summed = _summed(before, head[:_SUMMED_FRAME_BYTES] + data, order)
            if summed == sums and page:
                yield Frame(page, pages_after, file.tell() - page_bytes)
                continue
        yield None


def _summed(sums: Sums, data: bytes, order: str) -> Sums:
    one, two = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for word, next_word in zip(words, words, strict=True):
        one = (one + word + two) & _WORD
        two = (two + next_word + one) & _WORD
    return one, two
