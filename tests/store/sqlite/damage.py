"""Folders as a host left them that died, and what can happen to their files afterwards."""

import shutil
import sqlite3
from pathlib import Path
from typing import Final

from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.mark import mark_path
from cuttlebone.store.sqlite.reading import FILE_NAME
from store.stores import claimed, finish, insert

JOBS: Final = 30
IN_FILE: Final = 20
"""Jobs that were in the database itself when the host died; the others were in its log."""
PAGE_BYTES: Final = 4096
FRAME_BYTES: Final = 24 + PAGE_BYTES
LOG_HEADER_BYTES: Final = 32


def copy_state(before: Path, after: Path) -> Path:
    """Copy a state folder as a host that is killed now would leave it.

    The mark first: what it says was durable before it was written.
    """
    after.mkdir()
    mark = mark_path(before / FILE_NAME)
    for path in (mark, *(one for one in before.iterdir() if one != mark)):
        if path.is_dir():
            shutil.copytree(path, after / path.name)
        else:
            shutil.copy(path, after / path.name)
    return after


def left_by_a_crash(folder: Path) -> Path:
    """A state folder with jobs in the database and in its log, some of them ended."""
    stores = open_sqlite_stores(folder / "alive")
    insert(stores, *(f"job-{number:02}" for number in range(IN_FILE)))
    stores.jobs.forget_finished_before(claimed(stores).created_at, ttl_s=1)  # empties the log
    finish(stores, "job-00")
    for number in range(IN_FILE, JOBS):
        insert(stores, f"job-{number:02}")
    left = copy_state(folder / "alive", folder / "state")
    stores.close()
    return left


def database(state: Path) -> Path:
    return state / FILE_NAME


def log(state: Path) -> Path:
    return state / f"{FILE_NAME}-wal"


def fold(state: Path) -> None:
    """Bring the log into the database, as SQLite does now and then."""
    connection = connect(database(state))
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def damaged_header(state: Path) -> None:
    """A database that SQLite takes for none."""
    fold(state)
    overwrite(database(state), 0, 40)


def damaged_page(state: Path) -> None:
    """A page that nobody can read."""
    fold(state)
    overwrite(database(state), 8 * PAGE_BYTES, PAGE_BYTES)


def overwrite(path: Path, offset: int, size: int) -> None:
    """Let a part of a file be what no host writes."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * size)


def cut(path: Path, part: float) -> None:
    """Let the file end there."""
    size = int(path.stat().st_size * part)
    with path.open("r+b") as file:
        file.truncate(size)


def another_log(state: Path) -> None:
    """Put the log of another store beside the database."""
    other = left_by_a_crash(state.parent / "other")
    shutil.copy(log(other), log(state))


def foreign_file(state: Path) -> None:
    """Put a database of another program in its place."""
    for path in state.glob(f"{FILE_NAME}*"):
        path.unlink()
    connection = sqlite3.connect(database(state))
    connection.execute("create table songs (name text)")
    connection.close()


def middle_of_log(state: Path, *, frames: int = 1) -> None:
    """Damage a page in the middle of the log."""
    count = (log(state).stat().st_size - LOG_HEADER_BYTES) // FRAME_BYTES
    offset = LOG_HEADER_BYTES + count // 2 * FRAME_BYTES
    overwrite(log(state), offset + 100, (frames - 1) * FRAME_BYTES + 200)


def file_of_nothing(state: Path) -> None:
    """As `: > jobs.sqlite` leaves it."""
    database(state).write_bytes(b"")
