"""What the process that compiles says of a module arrives as it was sent, or not at all."""

import pytest

from cuttlebone.errors import FaultKind
from cuttlebone.locked_process.frames import BrokenFrame
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.sandbox.compile_program import (
    CompileProgram,
    CompileRequest,
    pack_faults,
    unpack_faults,
)
from cuttlebone.sandbox.remedies import advised


def test_faults_survive_the_way() -> None:
    faults = (advised(FaultKind.SIMD, "it: uses SIMD"), advised(FaultKind.INVALID, "no module"))
    assert unpack_faults(pack_faults(faults)) == faults


@pytest.mark.parametrize("payload", [b"", b"\xff\xfe", b"\x1b[2J so", b"simd so\nmore"])
def test_what_it_would_not_say_is_a_violation(payload: bytes) -> None:
    with pytest.raises(BrokenFrame) as caught:
        unpack_faults(payload)
    assert str(caught.value).isprintable()


def test_a_message_that_is_cut_does_no_harm() -> None:
    assert unpack_faults(b"simd") == (advised(FaultKind.SIMD, ""),)


def test_a_message_is_cut_and_cannot_move_a_cursor() -> None:
    (fault,) = unpack_faults(b"invalid \x1b[2J" + b"m" * 50_000)
    assert fault.message.isprintable()
    assert len(fault.message) < 5_000


def test_an_invalid_module_is_refused_with_its_faults() -> None:
    session = CompileProgram().open(b"", b"\0asm\1\0\0\0\0")
    with pytest.raises(RequestFailed) as caught:
        session.answer(CompileRequest.COMPILE, b"")
    (fault,) = unpack_faults(caught.value.payload)
    assert fault.kind is FaultKind.INVALID
