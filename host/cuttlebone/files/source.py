"""One file open for a guest: its length and kind at opening, and reads that notice a change."""

import os
import stat
from typing import Self

from cuttlebone.errors import CommandError
from cuttlebone.files.kinds import HEAD_BYTES, kind_of
from cuttlebone.files.opening import reopen_for_reading
from cuttlebone.files.refusals import denied, quoted
from cuttlebone_abi import ErrorCode, FileKind


class SourceFile:
    """A regular file, open for reading.

    Owner: the handle table that opened it; used by its thread alone. Invariants: `fd` is open
    until `close`; `size` and the time of modification are those at opening and never change.
    """

    __slots__ = ("_mtime_ns", "fd", "path", "size")

    def __init__(self, fd: int, path: str) -> None:
        status = os.fstat(fd)
        self.fd = fd
        self.path = path
        self.size = status.st_size
        self._mtime_ns = status.st_mtime_ns

    @classmethod
    def reopen(cls, path_fd: int, path: str) -> Self:
        """Open the inode of `path_fd` for reading.

        Its type is checked before, since opening a device or a pipe has effects of its own.
        Raises CommandError for anything but a regular file, and OSError.
        """
        mode = os.fstat(path_fd).st_mode
        if not stat.S_ISREG(mode):
            raise denied(
                f"{quoted(path)} is {_file_type(mode)}, and only regular files can be opened"
            )
        return cls(reopen_for_reading(path_fd), path)

    def kind(self) -> FileKind:
        """Look at the start of the file; raise CommandError `input_changed`, and OSError."""
        head = self.read(min(HEAD_BYTES, self.size), 0)
        return kind_of(head, whole=self.size <= HEAD_BYTES)

    def read(self, length: int, offset: int) -> bytes:
        """Return exactly `length` bytes at `offset`; raise CommandError `input_changed`, OSError."""
        data = os.pread(self.fd, length, offset)
        while 0 < len(data) < length:
            more = os.pread(self.fd, length - len(data), offset + len(data))
            if not more:
                break
            data += more
        self.require_unchanged()
        if len(data) < length:
            raise self._changed(f"it ends before byte {offset + length}")
        return data

    def require_unchanged(self) -> None:
        """Raise CommandError `input_changed` if size or time of modification are not those at opening."""
        status = os.fstat(self.fd)
        if status.st_size != self.size:
            raise self._changed(f"it had {self.size} bytes and now has {status.st_size}")
        if status.st_mtime_ns != self._mtime_ns:
            raise self._changed("it was written to")

    def close(self) -> None:
        """Give the descriptor back; to be called once."""
        os.close(self.fd)

    def _changed(self, how: str) -> CommandError:
        return CommandError(
            ErrorCode.INPUT_CHANGED,
            f"{quoted(self.path)} changed on disk since it was opened: {how}",
        )


def _file_type(mode: int) -> str:
    match stat.S_IFMT(mode):
        case stat.S_IFDIR:
            return "a folder"
        case stat.S_IFLNK:
            return "a symbolic link"
        case stat.S_IFIFO:
            return "a pipe"
        case stat.S_IFSOCK:
            return "a socket"
        case _:
            return "a device"
