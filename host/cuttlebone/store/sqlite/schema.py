"""How a connection to the file of the durable store is opened, and the file brought to this version."""

import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.migrations import MIGRATIONS
from cuttlebone.store.sqlite.soundness import check_files, unusable
from cuttlebone.text.sealed_numbers import SECRET_BYTES

_TRUNCATE_WAIT_MS: Final = 100
"""The writer has to wait for as long."""


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file for writing, making or migrating it; raise OperatorError that says what to do."""
    check_files(path)
    _keep_private(path)
    try:
        connection = connect(path)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        migrate(connection)
    except sqlite3.DatabaseError as error:
        raise unusable(path, str(error)) from None
    return connection


def _keep_private(path: Path) -> None:
    """Let nobody but the owner read the file and what SQLite keeps beside it, which takes its mode.

    An older host left these to be read by all who can enter the folder. A file that is there is not
    opened: to close it again would give up the locks that this process has on it.
    """
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                if one.stat().st_mode & 0o077:
                    one.chmod(0o600)
    except OSError as error:
        raise OperatorError(
            f"the job store {path} cannot be kept from others: {error.strerror}; it has to belong to "
            "the user who runs the host"
        ) from None


def kept_secret(connection: sqlite3.Connection) -> bytes:
    """The secret of the file, which is made the first time that it is asked for."""
    connection.execute(
        "insert into meta values ('secret', ?) on conflict do nothing",
        (secrets.token_bytes(SECRET_BYTES),),
    )
    (secret,) = connection.execute("select value from meta where key = 'secret'").fetchone()
    return bytes(secret)


def truncate_log(path: Path) -> None:
    """Bring the log of changes into the file and empty it, unless somebody reads it just now.

    What was wiped from the file is still in the log until then.
    """
    connection = connect(path)
    try:
        connection.execute(f"pragma busy_timeout = {_TRUNCATE_WAIT_MS}")
        connection.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.OperationalError:
        return  # a full disk, or too much going on: the next time will do
    finally:
        connection.close()


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to this version; raise sqlite3.DatabaseError."""
    (version,) = connection.execute("pragma user_version").fetchone()
    # A table that is made anew is dropped in between, and its rows' dependants must not go with it.
    connection.execute("pragma foreign_keys = off")
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(
            f"begin immediate; {script}; pragma user_version = {number}; commit;"
        )
    connection.execute("pragma foreign_keys = on")
