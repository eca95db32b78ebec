"""Compiling in a process of its own: it can be stopped, and has bounds."""

import os

import pytest

from cuttlebone.errors import BlockRefused, Interrupted
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.sandbox import CompileLimits
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.compiler import Compiler
from hostile.generators import GENERATED


def compiled(fork_server: ForkServer, limits: CompileLimits, *, stopped: bool) -> Artefact:
    """Begin to compile what takes seconds."""
    bomb = GENERATED["bomb_of_long_functions"]()
    compiler = Compiler(None, fork_server, limits)
    return compiler.artefact("sha256:bomb", bomb, metered=False, stopped=lambda: stopped)


def test_a_compilation_can_be_interrupted(fork_server: ForkServer) -> None:
    with pytest.raises(Interrupted):
        compiled(fork_server, CompileLimits(), stopped=True)


@pytest.mark.parametrize(
    "limits",
    [CompileLimits(wall_s=0.05), CompileLimits(cpu_s=1), CompileLimits(data_bytes=8 << 20)],
)
def test_a_compilation_has_bounds_of_time_and_memory(
    fork_server: ForkServer, limits: CompileLimits
) -> None:
    with pytest.raises(BlockRefused, match="split its largest functions"):
        compiled(fork_server, limits, stopped=False)


def test_a_sealed_module_cannot_be_written_by_anybody() -> None:
    artefact = Artefact(b"code")
    with pytest.raises(PermissionError):
        os.pwrite(artefact.descriptor(), b"x", 0)
