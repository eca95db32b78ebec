"""The program that compiles one module in a locked process: the content of the process is the wasm."""

from enum import IntEnum
from typing import Final, assert_never

from cuttlebone.errors import BlockRefused, Fault, FaultKind
from cuttlebone.locked_process.frames import NO_COUNTERS, BrokenFrame, Counters
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.remedies import advised
from cuttlebone.text import printable

MESSAGE_CHARS_MAX: Final = 1024
_EMPTY_MODULE: Final = b"\0asm\1\0\0\0"


class CompileRequest(IntEnum):
    """What the host asks for; there is no payload."""

    COMPILE = 1
    COMPILE_METERED = 2
    """Into code that counts fuel."""


def pack_faults(faults: tuple[Fault, ...]) -> bytes:
    """Payload of the reply to a module that is refused: a line for each, its kind and its message."""
    return "\n".join(f"{fault.kind} {fault.message}" for fault in faults).encode()


def unpack_faults(payload: bytes) -> tuple[Fault, ...]:
    """Inverse of `pack_faults`, with messages that are safe to show; raise BrokenFrame."""
    faults = []
    for line in payload.decode(errors="replace").split("\n"):
        told, _, message = line.partition(" ")
        try:
            kind = FaultKind(told)
        except ValueError:
            raise BrokenFrame(f"the kind of fault {printable(told)}") from None
        faults.append(advised(kind, printable(message, chars_max=MESSAGE_CHARS_MAX)))
    return tuple(faults)


def load() -> "CompileProgram":
    """Make the program, and compile once."""
    for metered in (False, True):
        compile_module(_EMPTY_MODULE, metered=metered)
    return CompileProgram()


class CompileProgram:
    """Has nothing but what it has imported. Immutable."""

    def warm_up(self) -> None:
        """A compilation takes so long that pages touched ahead would not be noticed."""

    def open(self, arguments: bytes, content: bytes) -> "CompileSession":  # noqa: ARG002  # it needs none
        """A session that will compile the wasm `content`."""
        return CompileSession(content)


class CompileSession:
    """The one compilation of a locked process. Owned by its only thread."""

    def __init__(self, wasm: bytes) -> None:
        self._wasm = wasm

    def answer(self, request: int, payload: bytes) -> bytes:  # noqa: ARG002  # there is none
        """Validate and compile; return machine code, or raise RequestFailed with what is wrong."""
        try:
            return compile_module(self._wasm, metered=self._metered(CompileRequest(request)))
        except BlockRefused as error:
            raise RequestFailed(pack_faults(error.faults)) from None

    @property
    def counters(self) -> Counters:
        """None of them is used."""
        return NO_COUNTERS

    def _metered(self, request: CompileRequest) -> bool:
        match request:
            case CompileRequest.COMPILE:
                return False
            case CompileRequest.COMPILE_METERED:
                return True
            case _:
                assert_never(request)
