"""What runs in a locked process: a program, that is, a module with a function `load`."""

from importlib import import_module
from typing import Protocol

from cuttlebone.locked_process.frames import Counters


class RequestFailed(Exception):
    """A request that cannot be met; `payload` says why, in the form that program and host agreed upon."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.payload = payload


class Session(Protocol):
    """What one locked process does until its host hangs up. Owned by its only thread."""

    def answer(self, request: int, payload: bytes) -> bytes:
        """Meet one request, numbered by the program's own enum; raise RequestFailed."""

    @property
    def counters(self) -> Counters:
        """What has been used so far; each program says what its three numbers are."""


class Program(Protocol):
    """Loaded once, in the zygote; each fork has its copy for itself."""

    def warm_up(self) -> None:
        """Touch in a fork, before there is anything to do, the pages that a session will write."""

    def open(self, arguments: bytes, content: bytes) -> Session:
        """Begin to serve. Runs locked down already: whatever needs a file was done by `load`."""


def load_program(module: str) -> Program:
    """Import a module and call its `load`, which does for the first time whatever a session may do.

    Raises whatever that raises; a zygote that cannot load its programs does not start.
    """
    program: Program = import_module(module).load()
    return program
