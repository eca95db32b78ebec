"""Takes from this process whatever a program does not need, layer by layer, without root.

Each layer holds by itself; together they leave memory, time and one socket. What the kernel does not
offer is reported, never passed over in silence.
"""

import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Final

from cuttlebone.locked_process.landlock import forbid_files_and_network
from cuttlebone.locked_process.seccomp import allow_only
from cuttlebone.syscalls import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, process_control

DESCRIPTORS_MAX: Final = 32
OUT_OF_TIME: Final = (signal.SIGXCPU, signal.SIGPROF)
"""What kills a process that has used up its processor time; the second where that is no whole second."""

# What Python and a native library call once everything is imported: memory, locks, signal stack, the one
# socket, and the way out. No call that opens, creates, executes or addresses another process.
ALLOWED_CALLS: Final = (
    "read",
    "write",
    "recvfrom",
    "sendto",
    "close",
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "madvise",
    "brk",
    "futex",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "clock_gettime",
    "getrandom",
    "exit",
    "exit_group",
)

# Some libraries ask whether standard error is a terminal, and take no for an answer.
FAILING_CALLS: Final = ("ioctl",)


class Layer(StrEnum):
    """One thing that holds a locked process."""

    PROCESS = "process"
    RLIMITS = "rlimits"
    NO_NEW_PRIVS = "no_new_privs"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What the kernel lets one process use, beyond what it has when it is locked down."""

    cpu_s: float
    """Processor time; one of `OUT_OF_TIME` at the end of it."""
    data_bytes: int
    """Private writable memory."""
    reserved_bytes: int
    """Address space that is reserved without being memory."""


def lock_down(limits: ProcessLimits) -> dict[Layer, str | None]:
    """Apply every layer to this process, for good. Returns why a layer is missing, or None for each."""
    steps: dict[Layer, Callable[[], None]] = {
        Layer.RLIMITS: lambda: limit_resources(limits),
        Layer.NO_NEW_PRIVS: forbid_new_privileges,
        Layer.LANDLOCK: forbid_files_and_network,
        # Last, because the others need calls that it forbids.
        Layer.SECCOMP: lambda: allow_only(ALLOWED_CALLS, failing=FAILING_CALLS),
    }
    report: dict[Layer, str | None] = {Layer.PROCESS: None}
    for layer, step in steps.items():
        try:
            step()
        except (OSError, ValueError) as error:
            report[layer] = str(error)
        else:
            report[layer] = None
    return report


def limit_resources(limits: ProcessLimits) -> None:
    """Bound time, memory and descriptors; forbid files to grow, processes and core dumps."""
    cpu_s = ceil(limits.cpu_s)
    if cpu_s != limits.cpu_s:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
    data, space = _memory_now()
    data += limits.data_bytes
    space += limits.data_bytes + limits.reserved_bytes
    bounds = {
        # The second second lets SIGXCPU arrive before the kernel kills without a reason.
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_DATA: (data, data),
        resource.RLIMIT_AS: (space, space),
        resource.RLIMIT_NOFILE: (DESCRIPTORS_MAX, DESCRIPTORS_MAX),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
    }
    for which, wanted in bounds.items():
        ceiling = resource.getrlimit(which)[1]
        if ceiling == resource.RLIM_INFINITY:
            ceiling = max(wanted)
        resource.setrlimit(which, (min(wanted[0], ceiling), min(wanted[1], ceiling)))


def forbid_new_privileges() -> None:
    """No set-user-id program helps from here on, and nobody of the same user may trace this process."""
    process_control(PR_SET_NO_NEW_PRIVS, 1)
    process_control(PR_SET_DUMPABLE, 0)


def _memory_now() -> tuple[int, int]:
    """Bytes of private writable memory and of address space that this process has now."""
    # As bytes: the first text file that a process reads makes Python import a codec.
    fields = Path("/proc/self/statm").read_bytes().split()
    page = resource.getpagesize()
    return int(fields[5]) * page, int(fields[0]) * page
