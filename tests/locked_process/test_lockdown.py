"""What a process can no longer do once it is locked down, each layer for itself and all together."""

import ctypes
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuttlebone.locked_process.landlock import forbid_files_and_network, landlock_version
from cuttlebone.locked_process.lockdown import (
    ALLOWED_CALLS,
    FAILING_CALLS,
    Layer,
    ProcessLimits,
    forbid_new_privileges,
    limit_resources,
    lock_down,
)
from cuttlebone.locked_process.seccomp import allow_only
from cuttlebone.syscalls import system_call

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

LIMITS = ProcessLimits(cpu_s=1, data_bytes=64 << 20, reserved_bytes=64 << 20)
REFUSED = 77
DONE = 0


def outcome(locks: Callable[[], object], attempt: Callable[[], object]) -> int:
    """Fork, lock, attempt: 0 if it succeeded, REFUSED if it raised OSError, minus a killing signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            locks()
            attempt()
            status = DONE
        except (OSError, MemoryError):
            status = REFUSED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def everything() -> None:
    lock_down(LIMITS)


def only_landlock() -> None:
    forbid_new_privileges()
    forbid_files_and_network()


def only_seccomp() -> None:
    forbid_new_privileges()
    allow_only(ALLOWED_CALLS, failing=FAILING_CALLS)


def only_rlimits() -> None:
    limit_resources(LIMITS)


def spin() -> None:
    while True:
        pass


ATTEMPTS: dict[str, Callable[[], object]] = {
    "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "open through /proc": lambda: os.open("/proc/self/mem", os.O_RDWR),
    "create": lambda: os.open("/tmp/cuttlebone-escape", os.O_CREAT | os.O_WRONLY),
    "stat": Path("/etc/passwd").stat,
    "socket": socket.socket,
    "socketpair": socket.socketpair,
    "pipe": os.pipe,
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "ptrace": lambda: system_call(101, 16, os.getppid(), 0, 0),
    "read another's memory": lambda: system_call(310, os.getppid(), 0, 0, 0, 0, 0),
    "kill the parent": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "signal itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "raise its own limits": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16)),
    "change directory": lambda: os.chdir("/"),
    "unlink": Path("/tmp/cuttlebone-nothing").unlink,
    "name a memory file": lambda: os.memfd_create("x"),
    "new namespace": lambda: system_call(272, 0x10000000),
    "bpf": lambda: system_call(321, 0, 0, 0),
    "io_uring": lambda: system_call(425, 1, 0),
    "keyring": lambda: system_call(250, 0, 0),
    "load a module": lambda: system_call(313, 0, 0, 0),
    "mount": lambda: system_call(165, 0, 0, 0, 0, 0),
    "set the clock": lambda: system_call(227, 0, 0),
    "a call of the x32 table": lambda: system_call(0x40000000 + 2, b"/etc/passwd", 0, 0),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_locked_down_process_is_killed_for_any_call_that_it_does_not_need(name: str) -> None:
    assert outcome(everything, ATTEMPTS[name]) == -signal.SIGSYS


def test_a_locked_down_process_may_still_use_memory_and_end() -> None:
    assert outcome(everything, lambda: len(bytearray(1 << 20))) == DONE


def test_every_layer_reports_itself_here() -> None:
    child_reports = dict.fromkeys(Layer)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # As in a guest process: descriptors that are open already count against the limit.
        os.dup2(writing, 1)
        os.closerange(3, 1 << 16)
        os.write(1, repr(lock_down(LIMITS)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == repr(child_reports)


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("name", ["open", "create", "exec"])
def test_landlock_alone_refuses_the_file_system(name: str) -> None:
    assert outcome(only_landlock, ATTEMPTS[name]) == REFUSED


@pytest.mark.skipif(landlock_version() < 4, reason="this kernel's Landlock has no network rules")
def test_landlock_alone_refuses_to_bind_and_connect() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        name = listening.getsockname()
        assert outcome(only_landlock, lambda: socket.create_connection(name)) == REFUSED
        assert outcome(only_landlock, lambda: socket.socket().bind(("127.0.0.1", 0))) == REFUSED


@pytest.mark.skipif(landlock_version() < 6, reason="this kernel's Landlock has no scopes")
def test_landlock_alone_refuses_signals_to_the_parent() -> None:
    assert outcome(only_landlock, lambda: os.kill(os.getppid(), 0)) == REFUSED


@pytest.mark.parametrize("name", ["open", "socket", "fork", "exec", "ptrace", "kill the parent"])
def test_seccomp_alone_kills(name: str) -> None:
    assert outcome(only_seccomp, ATTEMPTS[name]) == -signal.SIGSYS


def test_seccomp_lets_a_question_about_terminals_fail() -> None:
    assert outcome(only_seccomp, lambda: os.get_terminal_size(2)) == REFUSED


def test_rlimits_alone_bound_memory() -> None:
    # A mapping, not a bytearray: that may come out of what this process has freed before.
    assert outcome(only_rlimits, lambda: mmap.mmap(-1, 80 << 20, mmap.MAP_PRIVATE)) == REFUSED
    assert outcome(only_rlimits, lambda: mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE)) == DONE


def test_rlimits_alone_bound_address_space() -> None:
    assert outcome(only_rlimits, lambda: mmap.mmap(-1, 1 << 30, prot=0)) == REFUSED


def test_rlimits_alone_bound_descriptors() -> None:
    assert outcome(only_rlimits, lambda: [os.dup(2) for _ in range(40)]) == REFUSED


def test_rlimits_alone_let_no_file_grow(tmp_path: Path) -> None:
    def write() -> None:
        with (tmp_path / "file").open("wb", buffering=0) as file:
            file.write(b"x")

    assert outcome(only_rlimits, write) == REFUSED


def test_rlimits_alone_end_a_process_that_spins() -> None:
    assert outcome(only_rlimits, spin) == -signal.SIGXCPU


def test_no_new_privileges_is_set_for_good() -> None:
    def set_and_read() -> None:
        forbid_new_privileges()
        if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1:
            raise AssertionError

    assert outcome(lambda: None, set_and_read) == DONE
