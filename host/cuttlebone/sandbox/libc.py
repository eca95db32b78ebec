"""System calls that Python has no function for, by number through libc."""

import ctypes
import os
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38


def system_call(number: int, *arguments: object) -> int:
    """Make a system call; raise OSError if it fails. Arguments are ints and ctypes pointers."""
    result: int = _LIBC.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def process_control(option: int, value: int) -> None:
    """`prctl(option, value, 0, 0, 0)`; raise OSError if it fails."""
    if _LIBC.prctl(option, value, 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
