"""A program that is no guest runs behind the same layers: shown by a parser with every hole."""

import signal

import pytest

from cuttlebone.locked_process.child import Child, ChildDied
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.frames import Reply, ReplyKind
from cuttlebone.locked_process.lockdown import Layer
from locked_process.conftest import Parse
from locked_process.toy_parser import ParserRequest, parser_request


def asked(
    child: Child,
    request: ParserRequest = ParserRequest.COUNT_LINES,
    payload: bytes = b"",
    *,
    payload_bytes_max: int = 1 << 20,
) -> Reply:
    return child.ask(request, payload, payload_bytes_max=payload_bytes_max)


@pytest.fixture
def locked(fork_server: ForkServer) -> None:
    """Skip where the kernel lacks what kills a process for a call, or refuses it the file system."""
    layers = fork_server.layers()
    for layer in (Layer.SECCOMP, Layer.LANDLOCK):
        if (missing := layers[layer]) is not None:
            pytest.skip(f"{layer}: {missing}")


def test_a_parser_answers_about_the_document_of_its_process(parse: Parse) -> None:
    document = parse(b"one\ntwo\nthree\n")
    assert asked(document) == Reply(ReplyKind.DONE, b"3", (1, 14, 0))
    assert asked(document) == Reply(ReplyKind.DONE, b"3", (2, 14, 0))


def test_request_payload_and_arguments_reach_the_program(parse: Parse) -> None:
    document = parse(b"<content>", parser_request(arguments=b"<arguments>"))
    assert asked(document, ParserRequest.TEXT, b"<payload>").payload == (
        b"<payload><content><arguments>"
    )


def test_what_the_program_cannot_meet_is_told_in_its_own_words(parse: Parse) -> None:
    document = parse(b"ab\xff")
    assert asked(document) == Reply(ReplyKind.FAILED, b"byte 2 is no text", (1, 3, 0))
    assert asked(document, ParserRequest.TEXT).payload == b"ab\xff"


def test_a_bug_of_the_program_is_a_fault_with_its_text(parse: Parse) -> None:
    reply = asked(parse(b"!unheard of"))
    assert reply.kind is ReplyKind.FAULT
    assert reply.payload == b"KeyError: 'unheard of'"


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("hole", ["open", "connect", "fork"])
def test_a_parser_that_a_document_has_taken_over_is_killed_and_others_go_on(
    hole: str, parse: Parse
) -> None:
    neighbour = parse(b"one\n")
    victim = parse(f"one\n!{hole}\n".encode())
    with pytest.raises(ChildDied, match="SIGSYS") as caught:
        asked(victim)
    assert caught.value.signal_number == signal.SIGSYS
    assert asked(neighbour).payload == b"1"
    assert asked(parse(b"one\ntwo\n")).payload == b"2"


def test_processor_time_is_bounded(parse: Parse) -> None:
    with pytest.raises(ChildDied) as caught:
        asked(parse(b"!spin"))
    assert caught.value.signal_number == signal.SIGXCPU


def test_memory_is_bounded(parse: Parse) -> None:
    document = parse(b"!fill")
    assert asked(document).kind is ReplyKind.OUT_OF_MEMORY
    assert asked(document, ParserRequest.TEXT).payload == b"!fill"


def test_the_length_of_a_reply_is_bounded(parse: Parse) -> None:
    document = parse(b"x" * 1000)
    assert len(asked(document, ParserRequest.TEXT, payload_bytes_max=1000).payload) == 1000
    with pytest.raises(ChildDied, match="1001 bytes, over 1000"):
        asked(document, ParserRequest.TEXT, b"y", payload_bytes_max=1000)
    with pytest.raises(ChildDied, match="it was killed"):
        asked(document)


def test_a_process_holds_no_program_but_its_own(parse: Parse) -> None:
    loaded = asked(parse(b""), ParserRequest.LOADED).payload.decode().splitlines()
    assert "locked_process.toy_parser" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("cuttlebone.")}
    assert rooms == {"locked_process", "syscalls"}
    assert not {"wasmtime", "llama_cpp", "pydantic"} & set(loaded)
