"""Files written under another name first, so that nobody ever sees half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

UNFINISHED: Final = ".part"


def save(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file with that mode: a reader sees the old one or the new one, whatever happens.

    Once this returns, the new one outlives a loss of power. Raises OSError, with nothing left over.
    """
    with unnamed(path.parent) as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
        give_name(file, path)


def save_first(path: Path, data: bytes) -> bool:
    """Write a file, for its owner alone, if there is none; tell whether it was this one.

    Of several processes that do so at once exactly one is told so, and all find its file. As durable
    as `save`; raises OSError.
    """
    with unnamed(path.parent) as file:
        file.write(data)
        _sync(file)
        try:
            os.link(file.name, path)
        except FileExistsError:
            return False
        sync_folder(path.parent)
    return True


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone; raise OSError.

    A folder that is there stays as it is. `mkdir` with `parents` would give its mode to the last one only.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in (*reversed(missing), folder):
        one.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def unnamed(folder: Path) -> Iterator[IO[bytes]]:
    """Open a file for the body to write, which is gone afterwards unless `give_name` was called.

    Only a process that dies leaves it behind, under a name that ends in `UNFINISHED`. Raises OSError.
    """
    file = tempfile.NamedTemporaryFile(dir=folder, suffix=UNFINISHED, delete=False)  # noqa: SIM115  # closed below, also when it cannot be written
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()
        Path(file.name).unlink(missing_ok=True)


def give_name(file: IO[bytes], path: Path) -> None:
    """Put what was written in place of the file at `path`, in the same folder, to outlive a loss of power.

    Raises OSError.
    """
    _sync(file)
    Path(file.name).replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a loss of power; raise OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
