"""A copy of a damaged database, with its log of changes brought in, that SQLite opens."""

import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.store.sqlite.change_log import ChangeLog, read_change_log
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.mark import Durable, durable_in
from cuttlebone.store.sqlite.schema import migrate

PAGE_BYTES: Final = 4096
"""Of every database that a host makes."""
_HEADER_BYTES: Final = 100
_MODE_AT: Final = 18
_PAGES_AT: Final = 28
_FREE_AT: Final = 32
_MAGIC: Final = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class MendedCopy:
    """Where it is, and what was left aside."""

    path: Path
    frames_damaged: int
    foreign_log: bool
    """Whether the log of changes was another database's."""
    durable: Durable | None
    """What it says of itself; None where that cannot be read, or an older host wrote it."""


@contextmanager
def mended_copy(source: Path, mark: Durable | None, *, template: Path) -> Iterator[MendedCopy]:
    """Make the copy for the body, beside `template`, a sound database of this version.

    Raises sqlite3.DatabaseError if it cannot be opened all the same, OSError if it cannot be copied.
    """
    path = template.with_name(f"{template.name}-copy")
    log_path = source.with_name(f"{source.name}-wal")
    none = ChangeLog(log_path, PAGE_BYTES, (), 0)
    log = read_change_log(log_path, page_bytes=PAGE_BYTES) if log_path.exists() else none
    try:
        found, foreign = _copied(source, path, log, template), False
        if mark is not None and found is not None and found.store != mark.store and log.frames:
            found, foreign = _copied(source, path, none, template), True
        yield MendedCopy(path, log.damaged, foreign, found)
    finally:
        for ending in ("", "-journal"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _copied(source: Path, path: Path, log: ChangeLog, template: Path) -> Durable | None:
    """Make one file of database and log; return what it says of itself."""
    path.write_bytes(b"")
    if source.exists():
        shutil.copyfile(source, path)
    log.apply_to(path)
    _mend_header(path, template)
    with closing(connect(path)) as connection:
        migrate(connection)
        with suppress(sqlite3.DatabaseError):
            return durable_in(connection)
    return None


def _mend_header(path: Path, template: Path) -> None:
    """Give the file a header where it has none, and all the pages that the header speaks of."""
    pages = -(-path.stat().st_size // PAGE_BYTES)
    if not pages:
        return
    with path.open("r+b") as file:
        header = bytearray(file.read(_HEADER_BYTES)).ljust(_HEADER_BYTES, b"\0")
        if bytes(header[: len(_MAGIC)]) != _MAGIC:
            with template.open("rb") as sound:
                header = bytearray(sound.read(_HEADER_BYTES))
            struct.pack_into(">I", header, _PAGES_AT, pages)
            struct.pack_into(">II", header, _FREE_AT, 0, 0)
        header[_MODE_AT : _MODE_AT + 2] = b"\1\1"  # without a log of changes: it is in there
        file.seek(0)
        file.write(header)
        (stated,) = struct.unpack_from(">I", header, _PAGES_AT)
        file.truncate(max(pages, stated) * PAGE_BYTES)
