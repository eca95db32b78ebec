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

from cuttlebone.errors import BlockRefused, JobError
from cuttlebone.sandbox import GuestLimits
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.child import Child
from cuttlebone.sandbox.frames import Reply
from cuttlebone.sandbox.process_execution import ProcessExecution
from cuttlebone_abi import ErrorCode

LIMITS = GuestLimits(memory_bytes=1 << 20, command_bytes=100_000, fuel=1000)


def reply(kind: int, payload: bytes, *, length: int | None = None, fuel: int = 5) -> bytes:
    stated = len(payload) if length is None else length
    return pack("<BIQQQ", kind, stated, 7_000_000, 1 << 40, fuel) + payload


@contextmanager
def traitor(answer: bytes) -> Iterator[ProcessExecution]:
    """An execution whose process, once it is asked, answers with these bytes and hangs up."""
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
    execution = ProcessExecution(lambda _order, _module: child, Artefact(b"code"), LIMITS)
    try:
        yield execution
    finally:
        execution.close()
        thread.join()
        process.communicate()


@pytest.mark.parametrize(
    ("answer", "saying"),
    [
        (b"", "ended"),
        (b"\1\2", "ended"),
        (reply(Reply.PAYLOAD, b"", length=0xFFFFFFFF), "4294967295 bytes"),
        (reply(Reply.PAYLOAD, b"x" * 100_001), "100001 bytes"),
        (reply(Reply.PAYLOAD, b"x", length=2), "ended"),
        (reply(Reply.PAYLOAD, b"xyz", length=2), "after the end"),
        (reply(99, b""), "unknown kind 99"),
        (reply(Reply.FAULT, b"\x1b[2Jboo"), "\\x1b[2Jboo"),
        (reply(Reply.JOB_ERROR, b"internal\nno"), "the code internal"),
        (reply(Reply.JOB_ERROR, b"completed"), "the code completed"),
        (reply(Reply.JOB_ERROR, b"\xff\n\xff"), "the code"),
    ],
)
def test_what_no_guest_process_of_ours_would_say_is_a_fault_of_the_host(
    answer: bytes, saying: str
) -> None:
    with traitor(answer) as execution, pytest.raises(JobError) as caught:
        execution.init(b"{}")
    assert caught.value.code is ErrorCode.INTERNAL
    assert saying in caught.value.message
    assert caught.value.message.isprintable()


def test_a_refusal_in_place_of_an_answer_is_shown_harmlessly() -> None:
    with (
        traitor(reply(Reply.REFUSED, b"\x1b[31mno")) as execution,
        pytest.raises(BlockRefused) as caught,
    ):
        execution.init(b"{}")
    assert caught.value.faults == ("\\x1b[31mno",)


def test_a_message_is_cut_and_cannot_move_a_cursor() -> None:
    answer = reply(Reply.JOB_ERROR, b"wasm_trap\n\x1b[2J" + b"m" * 50_000)
    with traitor(answer) as execution, pytest.raises(JobError) as caught:
        execution.init(b"{}")
    assert caught.value.code is ErrorCode.WASM_TRAP
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 5_000


@pytest.mark.parametrize("payload", [b"", b"\1", b"\1\2\3"])
def test_a_description_or_verdict_that_is_cut_does_no_harm(payload: bytes) -> None:
    with traitor(reply(Reply.PAYLOAD, payload)) as execution, pytest.raises(JobError):
        execution.describe()
    with traitor(reply(Reply.PAYLOAD, payload)) as execution:
        assert 0 <= execution.on_token(b"x") < 1 << 32


def test_accounts_cannot_exceed_the_limits() -> None:
    with traitor(reply(Reply.PAYLOAD, b"{}", fuel=1 << 60)) as execution:
        assert execution.init(b"{}") == b"{}"
        used = execution.accounting()
    assert used.memory_bytes_peak == LIMITS.memory_bytes
    assert used.fuel == LIMITS.fuel
    assert used.steps == 1
