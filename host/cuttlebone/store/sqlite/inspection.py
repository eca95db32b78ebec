"""A look at the store of a state folder from outside, also while a host uses it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.migrations import SCHEMA_VERSION
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.soundness import check_files, unusable

SQLITE_VERSION: Final = sqlite3.sqlite_version


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What can be told of a store without opening it for work."""

    path: Path
    jobs: int
    schema: int
    """Its version; a newer one than `schema_known` was written by a newer host."""
    schema_known: int


def inspect_store(folder: Path) -> StoreFacts | None:
    """Look into the store of a state folder; None if there is none.

    Raises OperatorError as a start does that finds it damaged, or something of it gone.
    """
    path = folder / FILE_NAME
    try:
        there = path.exists() and path.stat().st_size > 0
        if not there or _version(path) <= SCHEMA_VERSION:
            check_files(path)
        if not there:
            return None
        with closing(connect(path, read_only=True)) as connection:
            (jobs,) = connection.execute("select count(*) from jobs").fetchone()
    except sqlite3.Error as error:
        raise unusable(path, str(error)) from None
    return StoreFacts(path, jobs, _version(path), SCHEMA_VERSION)


def _version(path: Path) -> int:
    with closing(connect(path, read_only=True)) as connection:
        (schema,) = connection.execute("pragma user_version").fetchone()
    return int(schema)
