"""Opening a file below a folder so that no link and no race can lead out of it.

The path is walked by the kernel from a held directory descriptor (`openat2`), and what that
gives is the inode itself, which is looked at and reopened without naming it again. To compare
`realpath` with the root and then open would leave time to swap a folder for a link in between.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Final, TypeAlias

from cuttlebone.syscalls import system_call

PathOpener: TypeAlias = Callable[[int, bytes], int]
"""`opener(root_fd, relative)` returns an O_PATH descriptor, the caller's to close; or OSError."""

RawOpenat2: TypeAlias = Callable[[int, bytes, "Resolve"], int]
"""One call of openat2 with O_PATH; OSError."""

TRIES_MAX: Final = 64
"""Calls of openat2 for one open: the kernel gives up by EAGAIN when a rename passes by."""

_OPENAT2: Final = 437  # the same number on every architecture but alpha
_PATH_FLAGS: Final = os.O_PATH | os.O_CLOEXEC
_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Resolve(IntFlag):
    """How openat2 may walk a path (linux/openat2.h)."""

    NO_XDEV = 0x01
    NO_MAGICLINKS = 0x02
    NO_SYMLINKS = 0x04
    BENEATH = 0x08


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def openat2(root_fd: int, relative: bytes, resolve: Resolve) -> int:
    """Make the system call, which the C libraries of today do not wrap; raise OSError."""
    how = _OpenHow(_PATH_FLAGS, 0, resolve)
    return system_call(_OPENAT2, root_fd, relative, ctypes.byref(how), ctypes.sizeof(how))


# BENEATH refuses magic links today, but its manual reserves the right to change that.
_FOLLOWING: Final = Resolve.BENEATH | Resolve.NO_MAGICLINKS
_STRICT: Final = _FOLLOWING | Resolve.NO_SYMLINKS | Resolve.NO_XDEV


@dataclass(frozen=True, slots=True)
class KernelOpener:
    """Lets the kernel walk the whole path at once."""

    follow_symlinks: bool = False
    """Follow links that stay below the root, instead of none."""
    call: RawOpenat2 = openat2

    def __call__(self, root_fd: int, relative: bytes) -> int:
        """Open `relative` below `root_fd`; raise OSError."""
        resolve = _FOLLOWING if self.follow_symlinks else _STRICT
        for _ in range(TRIES_MAX - 1):
            try:
                return self.call(root_fd, relative, resolve)
            except (BlockingIOError, InterruptedError):
                continue
        return self.call(root_fd, relative, resolve)


def open_by_walking(root_fd: int, relative: bytes) -> int:
    """Open `relative`, which has no `..`, one component at a time, following no link; raise OSError.

    For kernels before 5.6 and containers that forbid openat2. It knows mounts by their device
    alone, so that a bind mount of the same file system is not seen as one.
    """
    device = os.fstat(root_fd).st_dev
    current = os.dup(root_fd)
    for component in relative.split(b"/"):
        try:
            following = os.open(component, _PATH_FLAGS | os.O_NOFOLLOW, dir_fd=current)
        finally:
            os.close(current)
        current = following
        try:
            _check_step(os.fstat(current), device)
        except OSError:
            os.close(current)
            raise
    return current


def _check_step(status: os.stat_result, device: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    # Folders only: overlay file systems report other devices for plain files.
    if stat.S_ISDIR(status.st_mode) and status.st_dev != device:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def kernel_has_openat2(call: RawOpenat2 = openat2) -> bool:
    """Try openat2 once on the root folder."""
    root_fd = os.open("/", _PATH_FLAGS | os.O_DIRECTORY)
    try:
        os.close(call(root_fd, b".", Resolve.BENEATH))
    except OSError as error:
        if error.errno in {errno.ENOSYS, errno.EPERM}:
            return False
        raise
    finally:
        os.close(root_fd)
    return True


def open_path(path: str | Path) -> int:
    """Open what the operator named, links and all, as an O_PATH descriptor; raise OSError."""
    return os.open(path, _PATH_FLAGS)


def real_path(fd: int) -> Path:
    """Where an open descriptor really is; raise OSError."""
    return Path(_link(fd)).readlink()


def reopen_for_reading(path_fd: int) -> int:
    """Open the very inode of an O_PATH descriptor for reading, without naming it; raise OSError.

    Non-blocking, so that a lease on the file cannot hold the thread up.
    """
    return os.open(_link(path_fd), _READ_FLAGS)


def _link(fd: int) -> str:
    return f"/proc/self/fd/{fd}"
