"""A parser of documents that has every hole a parser can have: it does what a line of its document says."""

import os
import socket
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Final

from cuttlebone.locked_process.frames import Counters
from cuttlebone.locked_process.lockdown import ProcessLimits
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.locked_process.spawn_request import SpawnRequest

LIMITS: Final = ProcessLimits(cpu_s=1, data_bytes=32 << 20, reserved_bytes=64 << 20)


class ParserRequest(IntEnum):
    """What the host asks of the parser."""

    COUNT_LINES = 1
    """Reply: the number in decimal digits. Follows lines that begin with `!`."""
    TEXT = 2
    """Reply: the document between what the host sent and the argument of the process."""
    LOADED = 3
    """Reply: names of all modules that were imported, one a line."""


def parser_request(arguments: bytes = b"", limits: ProcessLimits = LIMITS) -> SpawnRequest:
    """A process that parses one document."""
    return SpawnRequest(program=__name__, limits=limits, arguments=arguments)


def load() -> "ToyParser":
    """Make the program."""
    return ToyParser()


class ToyParser:
    """The program."""

    def warm_up(self) -> None:
        """Parse something."""
        self.open(b"", b"one\n").answer(ParserRequest.COUNT_LINES, b"")

    def open(self, arguments: bytes, content: bytes) -> "Document":
        """Begin with a document."""
        return Document(arguments, content)


class Document:
    """One document. Its counters are requests, bytes of it, and 0."""

    def __init__(self, arguments: bytes, content: bytes) -> None:
        self._arguments = arguments
        self._content = content
        self._requests = 0

    @property
    def counters(self) -> Counters:
        return self._requests, len(self._content), 0

    def answer(self, request: int, payload: bytes) -> bytes:
        self._requests += 1
        match ParserRequest(request):
            case ParserRequest.COUNT_LINES:
                return self._count()
            case ParserRequest.TEXT:
                return payload + self._content + self._arguments
            case ParserRequest.LOADED:
                return "\n".join(sys.modules).encode()

    def _count(self) -> bytes:
        try:
            lines = self._content.decode().splitlines()
        except UnicodeDecodeError as error:
            raise RequestFailed(f"byte {error.start} is no text".encode()) from None
        for line in lines:
            if line.startswith("!"):
                HOLES[line[1:]]()
        return str(len(lines)).encode()


def spin() -> None:
    """Use processor time for ever."""
    while True:
        pass


def fill() -> None:
    """Use memory for ever."""
    parts = []
    while True:
        parts.append(bytearray(1 << 20))


HOLES: Final[dict[str, Callable[[], object]]] = {
    "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "connect": lambda: socket.socket().connect(("127.0.0.1", 9)),
    "fork": os.fork,
    "spin": spin,
    "fill": fill,
}
