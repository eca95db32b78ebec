"""System calls by number: failures are OSError, numbers are whole words, a child ends with its parent."""

import ctypes
import errno
import os
import platform
import select
import signal
import sys

import pytest

from bounds import scaled
from cuttlebone.syscalls import bind_to_parent, give_memory_back, process_control, system_call

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the numbers are Linux's")

WRITE, CLOSE, LSEEK, GETPID = (1, 3, 8, 39) if platform.machine() == "x86_64" else (64, 57, 62, 172)


def test_a_call_returns_what_the_kernel_says() -> None:
    assert system_call(GETPID) == os.getpid()


def test_a_call_that_fails_raises_the_error_of_the_kernel() -> None:
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        system_call(CLOSE, 1 << 20)
    assert caught.value.errno == errno.EBADF


def test_numbers_keep_all_their_bits_both_ways() -> None:
    descriptor = os.memfd_create("far")
    far = (1 << 40) + 7
    assert system_call(LSEEK, descriptor, far, os.SEEK_SET) == far
    os.close(descriptor)


def test_an_unknown_option_of_a_process_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        process_control(1 << 20, 0)


def test_a_process_that_is_bound_ends_with_its_parent() -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            bind_to_parent(os.getppid(), signal.SIGKILL)
            os.write(writing, b"bound")
            signal.pause()
        os.close(writing)
        os.read(reading, 5)
        os._exit(0)
    os.close(writing)
    os.waitpid(parent, 0)
    # Only the grandchild holds the other end now: the pipe ends with it.
    ready, _, _ = select.select([reading], [], [], scaled(30))
    assert ready
    while os.read(reading, 16):
        pass
    os.close(reading)


def test_a_process_whose_parent_has_ended_before_learns_it() -> None:
    child = os.fork()
    if child == 0:
        os._exit(bind_to_parent(os.getppid() + 1, signal.SIGKILL))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_pointers_are_passed_as_they_are() -> None:
    buffer = ctypes.create_string_buffer(b"sixteen")
    descriptor = os.memfd_create("written")
    assert system_call(WRITE, descriptor, buffer, 7) == 7
    assert os.pread(descriptor, 7, 0) == b"sixteen"
    os.close(descriptor)


def test_memory_can_be_given_back_at_any_time() -> None:
    give_memory_back()
    give_memory_back()
