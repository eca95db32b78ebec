"""A guest process that has lost control of itself: whatever it says, the host is not moved by it."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack

import pytest

from cuttlebone.errors import JobError
from cuttlebone.locked_process.child import Child
from cuttlebone.locked_process.frames import ReplyKind
from cuttlebone.sandbox import GuestLimits
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.guest_process import GuestProcess
from cuttlebone_abi import ErrorCode

LIMITS = GuestLimits(memory_bytes=1 << 20, command_bytes=100_000, fuel=1000)


def reply(kind: int, payload: bytes, *, length: int | None = None, fuel: int = 5) -> bytes:
    stated = len(payload) if length is None else length
    return pack("<BIQQQ", kind, stated, 7_000_000, 1 << 40, fuel) + payload


@contextmanager
def traitor(answer: bytes) -> Iterator[GuestProcess]:
    """A guest whose process, once it is asked, answers with these bytes and hangs up."""
    ours, theirs = socket.socketpair()
    status, _theirs_of_status = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def betray() -> None:
        theirs.recv(1 << 16)
        theirs.sendall(answer)
        theirs.close()
        _theirs_of_status.close()

    thread = threading.Thread(target=betray)
    thread.start()
    child = Child(ours, status, os.pidfd_open(process.pid))
    guest = GuestProcess(lambda _wanted, _content: child, Artefact(b"code"), LIMITS)
    try:
        yield guest
    finally:
        guest.close()
        thread.join()
        process.communicate()


@pytest.mark.parametrize(
    ("answer", "saying"),
    [
        (b"", "ended"),
        (b"\1\2", "ended"),
        (reply(ReplyKind.DONE, b"", length=0xFFFFFFFF), "4294967295 bytes"),
        (reply(ReplyKind.DONE, b"x" * 100_001), "100001 bytes"),
        (reply(ReplyKind.DONE, b"x", length=2), "ended"),
        (reply(ReplyKind.DONE, b"xyz", length=2), "after the end"),
        (reply(99, b""), "unknown kind 99"),
        (reply(ReplyKind.FAULT, b"\x1b[2Jboo"), "\\x1b[2Jboo"),
        (reply(ReplyKind.OUT_OF_MEMORY, b""), "out of memory beside"),
        (reply(ReplyKind.FAILED, b"internal\nno"), "the code internal"),
        (reply(ReplyKind.FAILED, b"completed"), "the code completed"),
        (reply(ReplyKind.FAILED, b"\xff\n\xff"), "the code"),
        (reply(ReplyKind.FAILED, b"wasm_trap\nbad\nluck"), "the kind of fault bad"),
    ],
)
def test_what_no_guest_process_of_ours_would_say_is_a_fault_of_the_host(
    answer: bytes, saying: str
) -> None:
    with traitor(answer) as guest, pytest.raises(JobError) as caught:
        guest.init(b"{}")
    assert caught.value.code is ErrorCode.INTERNAL
    assert saying in caught.value.message
    assert caught.value.message.isprintable()


def test_a_message_is_cut_and_cannot_move_a_cursor() -> None:
    answer = reply(ReplyKind.FAILED, b"wasm_trap\n\n\x1b[2J" + b"m" * 50_000)
    with traitor(answer) as guest, pytest.raises(JobError) as caught:
        guest.init(b"{}")
    assert caught.value.code is ErrorCode.WASM_TRAP
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 5_000


@pytest.mark.parametrize("payload", [b"", b"\1", b"\1\2\3"])
def test_a_description_or_verdict_that_is_cut_does_no_harm(payload: bytes) -> None:
    with traitor(reply(ReplyKind.DONE, payload)) as guest, pytest.raises(JobError):
        guest.describe()
    with traitor(reply(ReplyKind.DONE, payload)) as guest:
        assert 0 <= guest.on_token(b"x") < 1 << 32


def test_accounts_cannot_exceed_the_limits() -> None:
    with traitor(reply(ReplyKind.DONE, b"{}", fuel=1 << 60)) as guest:
        assert guest.init(b"{}") == b"{}"
        used = guest.accounting
    assert used.memory_bytes_peak == LIMITS.memory_bytes
    assert used.fuel == LIMITS.fuel
    assert used.steps == 1
