"""Landlock: after `forbid_files_and_network` this process opens no file and no TCP connection.

Numbers and layouts: Linux `include/uapi/linux/landlock.h` and `Documentation/userspace-api/landlock.rst`.
"""

import ctypes
import os
from typing import Final

from cuttlebone.syscalls import system_call

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr` of ABI 6."""

    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def landlock_version() -> int:
    """ABI version that the kernel offers; 0 if it has none or has it switched off."""
    try:
        return system_call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def forbid_files_and_network() -> None:
    """Handle every access that this kernel knows and grant none. Needs no_new_privs; raises OSError."""
    version = landlock_version()
    if version == 0:
        raise OSError("the kernel has no Landlock")
    # ABI 1 knows 13 accesses to files; 2 added refer, 3 truncate, 5 ioctl on devices.
    files = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        files |= (version >= since) << bit
    network = 0b11 if version >= 4 else 0
    # Abstract unix sockets and signals to processes outside.
    scoped = 0b11 if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _Ruleset(files, network, scoped)
    descriptor = system_call(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    try:
        system_call(_RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)
