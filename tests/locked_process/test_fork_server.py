"""Zygotes are started, replaced when they die, and take their processes with them."""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.errors import Interrupted, OperatorError
from cuttlebone.locked_process.child import ChildDied
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.locked_process.spawn_request import SpawnRequest
from locked_process.conftest import Parse
from locked_process.toy_parser import LIMITS, ParserRequest, parser_request
from zygotes import children_of, number_of, zygote_of


def test_every_layer_is_reported(fork_server: ForkServer) -> None:
    assert fork_server.layers().keys() == set(Layer)


def test_a_zygote_that_died_is_replaced(parse: Parse) -> None:
    parse(b"")
    died = zygote_of()
    os.kill(died, signal.SIGKILL)
    assert parse(b"one\n").ask(ParserRequest.COUNT_LINES, b"", payload_bytes_max=9).payload == b"1"
    assert zygote_of() != died


def test_processes_end_with_their_zygote(parse: Parse) -> None:
    child = parse(b"one\n")
    os.kill(zygote_of(), signal.SIGKILL)

    def ask_for_ever() -> None:
        while True:
            child.ask(ParserRequest.COUNT_LINES, b"", payload_bytes_max=9)

    with pytest.raises(ChildDied):
        ask_for_ever()


def test_a_process_is_gone_once_it_is_closed(parse: Parse) -> None:
    child = parse(b"")
    number = number_of(child)
    assert number in children_of(zygote_of())
    handle = os.pidfd_open(number)
    child.close()
    ended, _, _ = select.select([handle], [], [], scaled(30))
    os.close(handle)
    assert ended


def test_a_program_that_was_not_loaded_cannot_be_asked_for(fork_server: ForkServer) -> None:
    with pytest.raises(ValueError, match=r"has not loaded os\.path"):
        fork_server.spawn(SpawnRequest("os.path", LIMITS), 0)


def test_a_zygote_that_ends_in_its_start_is_no_reason_to_do_without() -> None:
    server = ForkServer(["cuttlebone.no_such_program"])
    with pytest.raises(OperatorError, match="ended in its start") as refused:
        server.layers()
    server.close()
    assert "isolation" not in str(refused.value)


def test_of_the_environment_only_what_python_needs_is_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUTTLEBONE_SECRET", "x")
    server = ForkServer([])
    server.layers()
    names = Path(f"/proc/{zygote_of()}/environ").read_bytes()
    server.close()
    assert b"CUTTLEBONE_SECRET" not in names
    assert b"PATH=" in names


def test_arguments_have_a_bound(fork_server: ForkServer) -> None:
    with pytest.raises(ValueError, match="over 4096"):
        fork_server.spawn(parser_request(arguments=bytes(4096)), 0)


@contextmanager
def stopped_zygote() -> Iterator[int]:
    """Stop the zygote of this process while the body runs."""
    number = zygote_of()
    os.kill(number, signal.SIGSTOP)
    try:
        yield number
    finally:
        os.kill(number, signal.SIGCONT)


def test_a_spawn_that_is_no_longer_wanted_ends_at_once(
    fork_server: ForkServer, parse: Parse
) -> None:
    parse(b"")
    with stopped_zygote(), Path(os.devnull).open("rb") as nothing:
        # The best of a few: a busy machine may not let this thread run in time.
        late_s = min(_lateness_s(fork_server, nothing.fileno()) for _ in range(3))
    assert late_s < scaled(0.2)


def _lateness_s(fork_server: ForkServer, content: int) -> float:
    due_s = time.monotonic() + 0.1
    with pytest.raises(Interrupted):
        fork_server.spawn(parser_request(), content, lambda: time.monotonic() > due_s)
    return time.monotonic() - due_s


def test_a_zygote_that_does_not_answer_is_replaced_and_its_processes_work_on(parse: Parse) -> None:
    before = parse(b"one\ntwo\n")
    with stopped_zygote() as number:
        after = parse(b"one\n")
        assert zygote_of() != number
        for child, lines in ((before, b"2"), (after, b"1")):
            reply = child.ask(ParserRequest.COUNT_LINES, b"", payload_bytes_max=9)
            assert reply.payload == lines


def test_a_zygote_that_reads_nothing_holds_nobody_up(fork_server: ForkServer, parse: Parse) -> None:
    parse(b"")
    with stopped_zygote() as number, Path(os.devnull).open("rb") as nothing:
        for _ in range(1000):  # more than its socket holds
            with pytest.raises(Interrupted):
                fork_server.spawn(parser_request(), nothing.fileno(), lambda: True)
        os.kill(number, signal.SIGKILL)
    parse(b"")


def test_nothing_is_forked_after_the_end() -> None:
    server = ForkServer([])
    server.close()
    with pytest.raises(OperatorError, match="closing"):
        server.layers()
