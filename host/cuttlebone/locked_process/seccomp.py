"""seccomp: after `allow_only` any system call outside the list kills this process.

The filter is classic BPF: one comparison for each allowed number. Layouts and constants: Linux
`include/uapi/linux/seccomp.h`, `filter.h` and `audit.h`. Numbers are those of x86-64, the one
architecture that the tests have run on; elsewhere this layer reports that it is missing.
"""

import ctypes
import errno
import platform
from collections.abc import Iterable
from struct import pack
from typing import Final

from cuttlebone.syscalls import system_call

_SECCOMP: Final = 317
_SET_MODE_FILTER: Final = 1
_AUDIT_ARCH_X86_64: Final = 0xC000003E
_RET_KILL_PROCESS: Final = 0x80000000
_RET_ALLOW: Final = 0x7FFF0000
_RET_ERRNO: Final = 0x00050000

_LOAD_WORD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_OFFSET_NUMBER: Final = 0
_OFFSET_ARCH: Final = 4

NUMBERS: Final = {
    "read": 0,
    "write": 1,
    "close": 3,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "ioctl": 16,
    "mremap": 25,
    "madvise": 28,
    "sendto": 44,
    "recvfrom": 45,
    "exit": 60,
    "sigaltstack": 131,
    "futex": 202,
    "clock_gettime": 228,
    "exit_group": 231,
    "getrandom": 318,
}


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def seccomp_missing() -> str | None:
    """Why this layer cannot be had here, or None."""
    if platform.machine() != "x86_64":
        return f"no seccomp filter for {platform.machine()} yet"
    return None


def allow_only(names: Iterable[str], *, failing: Iterable[str] = ()) -> None:
    """Allow `names`, let `failing` fail, and kill the process on any other call.

    Needs no_new_privs; raises OSError.
    """
    if missing := seccomp_missing():
        raise OSError(missing)
    code = _filter_code([NUMBERS[name] for name in names], [NUMBERS[name] for name in failing])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    system_call(_SECCOMP, _SET_MODE_FILTER, 0, ctypes.byref(program))


def _filter_code(allowed: Iterable[int], failing: Iterable[int]) -> bytes:
    # The architecture comes first: the same number means another call in the 32-bit table. Calls of
    # the x32 table carry bit 30, so they equal no number here.
    code = [
        _instruction(_LOAD_WORD, _OFFSET_ARCH),
        _instruction(_JUMP_IF_EQUAL, _AUDIT_ARCH_X86_64, when_true=1),
        _instruction(_RETURN, _RET_KILL_PROCESS),
        _instruction(_LOAD_WORD, _OFFSET_NUMBER),
    ]
    verdicts = [(number, _RET_ALLOW) for number in allowed]
    verdicts += [(number, _RET_ERRNO | errno.ENOTTY) for number in failing]
    for number, verdict in verdicts:
        code.append(_instruction(_JUMP_IF_EQUAL, number, when_false=1))
        code.append(_instruction(_RETURN, verdict))
    code.append(_instruction(_RETURN, _RET_KILL_PROCESS))
    return b"".join(code)


def _instruction(operation: int, value: int, *, when_true: int = 0, when_false: int = 0) -> bytes:
    return pack("=HBBI", operation, when_true, when_false, value)
