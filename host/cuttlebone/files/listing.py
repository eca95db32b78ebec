"""What a folder holds, as far as it is granted: each entry is looked at as `open` would look at it."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cuttlebone.errors import CommandError
from cuttlebone.files.opening import PathOpener, reopen_for_reading
from cuttlebone.files.paths import Components, UnusablePath, check_text
from cuttlebone.files.refusals import denied, quoted
from cuttlebone.files.roots import Grant
from cuttlebone_abi import ErrorCode

FOLDER_ENTRIES_MAX: Final = 100_000
"""Names in one folder. They are sorted for each answer, so that a walk needs no state of the host."""

CheckWanted = Callable[[], None]
"""Raises JobError once nobody wants the answer."""

_OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A granted file, or a folder in which something is granted."""

    name: str
    is_folder: bool
    len: int
    """Bytes in a file; 0 for a folder."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries by the bytes of their names, and whether there are more behind them."""

    entries: tuple[FolderEntry, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class GrantedFolder:
    """A folder as one grant sees it: it leads to the folder, or allows an entry of it."""

    grant: Grant
    path: Components
    opener: PathOpener

    @property
    def leads(self) -> bool:
        """Whether the grant lets the folder itself be listed."""
        return self.grant.locate_folder(self.path) is not None

    def names(self, path: str, check_wanted: CheckWanted) -> list[str]:
        """All names in it that a guest can say; raise OSError, and CommandError if it is no folder."""
        path_fd = self.grant.open_below(self.grant.locate_folder(self.path) or (), self.opener)
        try:
            if not stat.S_ISDIR(os.fstat(path_fd).st_mode):
                raise denied(f"{quoted(path)} is no folder, and only folders can be listed")
            fd = reopen_for_reading(path_fd)
        finally:
            os.close(path_fd)
        try:
            return list(_names_in(fd, path, check_wanted))
        finally:
            os.close(fd)

    def entry(self, name: str) -> FolderEntry | None:
        """Look at one of them; None if it is not granted, or could not be opened. Raises OSError."""
        as_file = self.grant.locate((*self.path, name))
        as_folder = self.grant.locate_folder((*self.path, name))
        relative = as_file if as_file is not None else as_folder
        if relative is None:
            return None
        try:
            fd = self.grant.open_below(relative, self.opener)
        except OSError as error:
            if error.errno in _OURS:
                raise
            return None  # a link, a mount, or gone meanwhile
        try:
            status = os.fstat(fd)
        finally:
            os.close(fd)
        if as_file is not None and stat.S_ISREG(status.st_mode):
            return FolderEntry(name, is_folder=False, len=status.st_size)
        if as_folder is not None and stat.S_ISDIR(status.st_mode):
            return FolderEntry(name, is_folder=True, len=0)
        return None


def list_entries(
    folders: Sequence[GrantedFolder],
    path: str,
    *,
    after: str | None,
    entries_max: int,
    check_wanted: CheckWanted,
) -> Listing:
    """List what the grants together allow of one folder; raise OSError and CommandError.

    `check_wanted` is called for each name, and may raise JobError.
    """
    known = {
        name for folder in folders if folder.leads for name in folder.names(path, check_wanted)
    }
    begin = (after or "").encode("utf-8", "surrogatepass")
    behind = (name for name in known if after is None or name.encode() > begin)
    names = sorted(behind, key=str.encode)
    found = list(islice(_granted(folders, names, check_wanted), entries_max + 1))
    return Listing(tuple(found[:entries_max]), more=len(found) > entries_max)


def _granted(
    folders: Sequence[GrantedFolder], names: Sequence[str], check_wanted: CheckWanted
) -> Iterator[FolderEntry]:
    for name in names:
        check_wanted()
        seen = (folder.entry(name) for folder in folders)
        entry = next((entry for entry in seen if entry is not None), None)
        if entry is not None:
            yield entry


def _names_in(fd: int, path: str, check_wanted: CheckWanted) -> Iterator[str]:
    with os.scandir(fd) as entries:
        for count, entry in enumerate(entries):
            check_wanted()
            if count == FOLDER_ENTRIES_MAX:
                raise CommandError(
                    ErrorCode.LIMIT_EXCEEDED,
                    f"{quoted(path)} holds more than {FOLDER_ENTRIES_MAX} names, which is the most "
                    "that is listed; divide it into folders",
                )
            if _sayable(entry.name):
                yield entry.name


def _sayable(name: str) -> bool:
    """Whether `open` would take this name as a part of a path."""
    try:
        check_text(name)
    except UnusablePath:
        return False
    return True
