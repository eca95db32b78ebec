"""How a connection to the file of the durable store is made."""

import sqlite3
from pathlib import Path
from typing import Final

BUSY_TIMEOUT_S: Final = 10.0


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection for use by one thread at a time, in autocommit mode.

    Raises sqlite3.DatabaseError if it is to be read and is empty: SQLite would throw its log away.
    """
    if read_only and path.exists() and not path.stat().st_size:
        raise sqlite3.DatabaseError(f"{path.name} is empty")
    connection = sqlite3.connect(
        f"file:{path}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_S,
    )
    connection.row_factory = sqlite3.Row
    # Deleted inputs and envelopes are overwritten, not left in free pages.
    for pragma in ("foreign_keys = on", "trusted_schema = off", "secure_delete = on"):
        connection.execute(f"pragma {pragma}")
    return connection
