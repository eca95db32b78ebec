"""A look at the store of a state folder from outside, also while a host uses it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.migrations import SCHEMA_VERSION
from cuttlebone.store.sqlite.reading import FILE_NAME

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
    """Look into the store of a state folder; None if there is none. Raises OperatorError."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        with closing(connect(path, read_only=True)) as connection:
            (schema,) = connection.execute("pragma user_version").fetchone()
            (jobs,) = connection.execute("select count(*) from jobs").fetchone()
    except sqlite3.Error as error:
        raise OperatorError(f"{path} cannot be read: {error}") from None
    return StoreFacts(path, jobs, schema, SCHEMA_VERSION)
