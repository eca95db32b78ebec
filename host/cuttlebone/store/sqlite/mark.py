"""The mark beside the database: how much of it was durable, so that a start can see what has been lost."""

import os
import sqlite3
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from cuttlebone.saving import sync_folder

SLOT_BYTES: Final = 512
"""A sector: a disk writes it whole or not at all."""
_SLOTS: Final = 2
_WORD: Final = b"cuttlebone-mark"
_COUNT: Final = "update meta set value = value + 1 where key = 'commits' returning value"
_NAMED: Final = "select key, value from meta where key in ('commits', 'store')"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Durable:
    """What was known to be durable."""

    store: str
    """The name that the database was given when it was made."""
    commits: int
    """Of the database, in all its life."""
    jobs: int
    """That it held after the last of them."""


def mark_path(database: Path) -> Path:
    """Where the mark of a database is."""
    return database.with_name(f"{database.name}-mark")


def read_mark(database: Path) -> Durable | None:
    """The mark beside a database; None if there is none that is whole. Raises OSError."""
    try:
        data = mark_path(database).read_bytes()
    except FileNotFoundError:
        return None
    slots = (
        _parsed(data[at : at + SLOT_BYTES]) for at in range(0, SLOT_BYTES * _SLOTS, SLOT_BYTES)
    )
    return max((one for one in slots if one), key=lambda one: one.commits, default=None)


def durable_in(connection: sqlite3.Connection) -> Durable | None:
    """What a database says of itself; None if it is of a version that did not count."""
    values = dict(connection.execute(_NAMED).fetchall())
    if not {"commits", "store"} <= values.keys():
        return None
    return Durable(str(values["store"]), int(values["commits"]), jobs_in(connection))


def jobs_in(connection: sqlite3.Connection) -> int:
    """How many jobs a database says that it holds."""
    (jobs,) = connection.execute("select sum(jobs) from job_counts").fetchone()
    return int(jobs)


class Mark:
    """Written after each commit, and synced only at the start and at the end: it may fall behind.

    Owner: the writer; `note` is called in its thread. Invariant: what it says was durable before it
    was written, so a database that has less has lost something. The slots take turns: of a write
    that the power cut short the one before is left.
    """

    def __init__(self, database: Path, durable: Durable) -> None:
        """Make the file, or go on with that which is there; raise OSError."""
        self._store = durable.store
        self._file = os.open(mark_path(database), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for slot in range(_SLOTS):  # both, whatever they said
            os.pwrite(self._file, _slot(durable), slot * SLOT_BYTES)
        os.fsync(self._file)
        sync_folder(database.parent)
        self._complained = False

    def count(self, connection: sqlite3.Connection) -> Durable:
        """Count one more commit, inside of it; return what will be durable after it."""
        (commits,) = connection.execute(_COUNT).fetchone()
        return Durable(self._store, commits, jobs_in(connection))

    def note(self, durable: Durable) -> None:
        """Say what has just become durable."""
        try:
            os.pwrite(self._file, _slot(durable), durable.commits % _SLOTS * SLOT_BYTES)
        except OSError as error:
            # What it says stays true, of less than there is.
            if not self._complained:
                self._complained = True
                _log.warning("the mark of the job store cannot be written", reason=error.strerror)

    def close(self) -> None:
        """Let it outlive a loss of power."""
        with suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)


def _slot(durable: Durable) -> bytes:
    text = b"%b %b %d %d" % (_WORD, durable.store.encode(), durable.commits, durable.jobs)
    return (b"%b %08x\n" % (text, zlib.crc32(text))).ljust(SLOT_BYTES, b"\0")


def _parsed(slot: bytes) -> Durable | None:
    """What a slot says; None if it was not written whole."""
    text, _, checksum = slot.rstrip(b"\0\n").rpartition(b" ")
    words = text.split(b" ")
    if words[0] != _WORD or len(words) != 4 or checksum != b"%08x" % zlib.crc32(text):
        return None
    return Durable(words[1].decode(), int(words[2]), int(words[3]))
