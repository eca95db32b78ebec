"""Files written anew under their names, so that nobody ever sees half of one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def save(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file with that mode: a reader sees the old one or the new one, whatever happens.

    Once this returns, the new one outlives a loss of power. Raises OSError, with nothing left over.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a loss of power; raise OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
