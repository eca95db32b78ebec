"""Compiled modules: from memory, from the cache on disk, or compiled in a process that can be killed."""

import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, assert_never

import structlog

from cuttlebone.errors import BlockRefused, Fault, FaultKind, Interrupted
from cuttlebone.locked_process.child import Child, ChildDied
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.frames import BrokenFrame, ReplyKind
from cuttlebone.locked_process.lockdown import ProcessLimits
from cuttlebone.locked_process.sealed_file import sealed_file
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.locked_process.watch import Watch
from cuttlebone.sandbox import compile_program
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.cache import ArtefactCache
from cuttlebone.sandbox.compile_program import MESSAGE_CHARS_MAX, CompileRequest, unpack_faults
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.engine import RESERVED_BYTES, settings_digest
from cuttlebone.sandbox.guest import MEBIBYTE
from cuttlebone.sandbox.remedies import advised
from cuttlebone.text import printable

WASMTIME_VERSION: Final = version("wasmtime")
ARTEFACT_BYTES_MAX: Final = 256 * MEBIBYTE
KEPT_BYTES_MAX: Final = 256 * MEBIBYTE
KEPT_MAX: Final = 64
"""Compiled modules kept in memory; each may hold a descriptor."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CompileLimits:
    """What compiling one module may use."""

    cpu_s: int = 10
    """Processor time; a module of a mebibyte takes about one second."""
    wall_s: float = 600.0
    """For a process that hangs: a busy machine may take minutes to give one its processor time."""
    data_bytes: int = 1024 * MEBIBYTE


class Compiler:
    """Compiles each module once. Thread-safe; `_lock` guards `_kept` alone, not the compilation.

    Two threads that ask for the same new module may both compile it; both get equal code.
    """

    def __init__(
        self, cache: ArtefactCache | None, fork_server: ForkServer | None, limits: CompileLimits
    ) -> None:
        """Without a fork server modules are compiled in this process, where nothing can stop them."""
        self._cache = cache
        self._fork_server = fork_server
        self._limits = limits
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Artefact] = OrderedDict()

    def artefact(
        self, digest: str, wasm: bytes, *, metered: bool, stopped: Callable[[], bool]
    ) -> Artefact:
        """The compiled form of `wasm`, whose digest is `digest`.

        Raises BlockRefused if it is invalid or takes too much to compile, and Interrupted soon
        after `stopped` begins to return True.
        """
        settings = settings_digest(WASMTIME_VERSION, metered=metered)
        name = f"{digest.removeprefix('sha256:')}-{settings[:32]}"
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        code = None if self._cache is None else self._cache.get(name)
        if code is None:
            code = self._compile(wasm, metered=metered, stopped=stopped)
            if self._cache is not None:
                self._cache.put(name, code)
        return self._keep(name, Artefact(code))

    def _keep(self, name: str, artefact: Artefact) -> Artefact:
        with self._lock:
            self._kept[name] = artefact
            total = sum(each.size_bytes for each in self._kept.values())
            while len(self._kept) > KEPT_MAX or (len(self._kept) > 1 and total > KEPT_BYTES_MAX):
                total -= self._kept.popitem(last=False)[1].size_bytes
        return artefact

    def _compile(self, wasm: bytes, *, metered: bool, stopped: Callable[[], bool]) -> bytes:
        if self._fork_server is None:
            return compile_module(wasm, metered=metered)
        wanted = SpawnRequest(
            program=compile_program.__name__,
            limits=ProcessLimits(self._limits.cpu_s, self._limits.data_bytes, RESERVED_BYTES),
            lowers_priority=False,
        )
        source = sealed_file(wasm)
        try:
            child = self._fork_server.spawn(wanted, source, stopped)
        finally:
            os.close(source)
        try:
            request = CompileRequest.COMPILE_METERED if metered else CompileRequest.COMPILE
            return _ask_for_code(child, request, stopped, self._limits)
        finally:
            child.close()


def _ask_for_code(
    child: Child, request: CompileRequest, stopped: Callable[[], bool], limits: CompileLimits
) -> bytes:
    with Watch(child, stopped, limits.wall_s) as watch:
        try:
            reply = child.ask(request, b"", payload_bytes_max=ARTEFACT_BYTES_MAX)
        except ChildDied as death:
            if stopped():
                raise Interrupted("compiling") from None
            too_long = watch.expired or death.signal_number == signal.SIGXCPU
            fault = _too_long(limits) if too_long else _too_large(limits, str(death))
            raise BlockRefused((fault,)) from None
    match reply.kind:
        case ReplyKind.DONE:
            return reply.payload
        case ReplyKind.FAILED:
            raise BlockRefused(_faults(reply.payload))
        case ReplyKind.OUT_OF_MEMORY:
            raise BlockRefused((_too_large(limits, "it ran out of memory"),))
        case ReplyKind.FAULT:
            text = printable(reply.payload.decode(errors="replace"), chars_max=MESSAGE_CHARS_MAX)
            raise BlockRefused((_own_fault(text),))
        case _:
            assert_never(reply.kind)


def _faults(payload: bytes) -> tuple[Fault, ...]:
    try:
        return unpack_faults(payload)
    except BrokenFrame as error:
        return (_own_fault(f"it reported {error}"),)


def _own_fault(what: str) -> Fault:
    _log.error("a process that compiles failed", how=what)
    return advised(FaultKind.HOST, f"compiling it failed: {what}")


def _too_long(limits: CompileLimits) -> Fault:
    message = f"compiling it takes more than {limits.cpu_s} s of processor time"
    return advised(FaultKind.COMPILE_COST, message)


def _too_large(limits: CompileLimits, how: str) -> Fault:
    message = (
        f"compiling it failed ({how}): most likely it needs more than {limits.data_bytes} bytes "
        "of memory"
    )
    return advised(FaultKind.COMPILE_COST, message)
