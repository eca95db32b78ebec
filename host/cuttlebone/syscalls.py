"""System calls that Python has no function for, by number through the C library."""

import ctypes
import os
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38


def system_call(number: int, *arguments: object) -> int:
    """Make a system call; raise OSError if it fails. Arguments are ints, bytes and ctypes pointers."""
    result: int = _LIBC.syscall(ctypes.c_long(number), *map(_word, arguments))
    if result < 0:
        raise _last_error()
    return result


def process_control(option: int, value: int) -> None:
    """`prctl(option, value, 0, 0, 0)`; raise OSError if it fails."""
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise _last_error()


def bind_to_parent(parent: int, signal_number: int) -> bool:
    """Have the kernel send this process a signal when its parent ends, in whatever way.

    False if `parent` ended before the kernel was told to watch it. Linux alone has this.
    """
    process_control(PR_SET_PDEATHSIG, signal_number)
    return os.getppid() == parent


def give_memory_back() -> None:
    """Have the C library return what it keeps of freed memory, where it does so when asked (glibc)."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if trim is not None:
        trim(0)


def _word(argument: object) -> object:
    # ctypes passes an int as 32 bits, and the kernel looks at all 64.
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _last_error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
