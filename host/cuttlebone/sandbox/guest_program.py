"""The program that runs one guest in a locked process: the content of the process is a compiled module."""

from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Final, assert_never

import wasmtime

from cuttlebone.errors import JobError
from cuttlebone.locked_process.frames import NO_COUNTERS, Counters
from cuttlebone.locked_process.lockdown import ProcessLimits
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.engine import RESERVED_BYTES, new_engine
from cuttlebone.sandbox.guest import MEBIBYTE, GuestLimits
from cuttlebone.sandbox.guest_messages import (
    pack_counters,
    pack_description,
    pack_job_error,
    pack_limits,
    unpack_limits,
)
from cuttlebone.sandbox.instance import Instance

# What Python and wasmtime themselves allocate beside the guest's memory.
_OWN_DATA_BYTES: Final = 64 * MEBIBYTE

# Goes every way that a guest can go: a call, a command, a trap in a function whose name has to be
# escaped. What is done for the first time after the lock-down must not need a file.
_WARM_UP: Final = """(module (memory (export "memory") 1)
  (data (i32.const 0) "\\08\\00\\00\\00\\01\\00\\00\\00x")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 0))
  (func $s (@name "\\1b") (param i32 i32) (result i32) (unreachable))
  (export "cf_step" (func $s)))"""


class GuestRequest(IntEnum):
    """What the host asks for; the payload is that of the guest's function."""

    INIT = 1
    STEP = 2
    ON_TOKEN = 3
    DESCRIBE = 4
    """Start the instance and tell ABI version and signature, instead of INIT."""


def guest_spawn_request(limits: GuestLimits, module_bytes: int) -> SpawnRequest:
    """A process that runs one guest; `module_bytes` is the size of its compiled module."""
    # A payload is held a few times over, and so is the module while it is loaded.
    copied = 4 * limits.command_bytes + 4 * module_bytes
    return SpawnRequest(
        program=__name__,
        limits=ProcessLimits(
            cpu_s=limits.cpu_s,
            data_bytes=limits.memory_bytes + _OWN_DATA_BYTES + copied,
            reserved_bytes=RESERVED_BYTES,
        ),
        arguments=pack_limits(limits),
    )


def load() -> "GuestProgram":
    """Make the program, and go once every way that a guest can go."""
    stack_bytes = GuestLimits().stack_bytes
    engines = {
        (metered, stack_bytes): new_engine(metered=metered, stack_bytes=stack_bytes)
        for metered in (False, True)
    }
    wasm = bytes(wasmtime.wat2wasm(_WARM_UP))
    program = GuestProgram(engines, compile_module(wasm, metered=False))
    program.warm_up()
    return program


class GuestProgram:
    """What each locked process has with it from birth. Immutable."""

    def __init__(
        self, engines: Mapping[tuple[bool, int], wasmtime.Engine], warm_up_module: bytes
    ) -> None:
        """Take engines by whether they meter and by `stack_bytes`: making one takes longer than a job."""
        self._engines = engines
        self._warm_up_module = warm_up_module

    def warm_up(self) -> None:
        """Run a guest to its trap: whatever is done lazily has then been done."""
        session = self.open(pack_limits(GuestLimits()), self._warm_up_module)
        session.answer(GuestRequest.INIT, b"{}")
        with suppress(RequestFailed):
            session.answer(GuestRequest.STEP, b"{}")
        session.close()

    def open(self, arguments: bytes, content: bytes) -> "GuestSession":
        """A session that will run the compiled module `content`."""
        limits = unpack_limits(arguments)
        engine = self._engines.get((limits.fuel is not None, limits.stack_bytes))
        return GuestSession(content, limits, engine)


class GuestSession:
    """The one guest of a locked process. Owned by its only thread.

    Invariant: the code is loaded by the first request, whose outcome can be told, and kept no longer.
    """

    def __init__(self, code: bytes, limits: GuestLimits, engine: wasmtime.Engine | None) -> None:
        self._code = code
        self._limits = limits
        self._engine = engine
        self._instance: Instance | None = None

    def answer(self, request: int, payload: bytes) -> bytes:
        """Enter the guest; raise RequestFailed with the packed error of its job."""
        try:
            return self._carry_out(GuestRequest(request), self._opened(), payload)
        except JobError as error:
            raise RequestFailed(pack_job_error(error)) from None

    @property
    def counters(self) -> Counters:
        """Nanoseconds in the guest, the peak of its memory in bytes, and its fuel."""
        return NO_COUNTERS if self._instance is None else pack_counters(self._instance.accounting)

    def close(self) -> None:
        """Free the instance."""
        if self._instance is not None:
            self._instance.close()

    def _opened(self) -> Instance:
        if self._instance is None:
            self._instance = Instance(self._code, self._limits, engine=self._engine)
            self._code = b""
        return self._instance

    def _carry_out(self, request: GuestRequest, instance: Instance, payload: bytes) -> bytes:
        match request:
            case GuestRequest.INIT:
                return instance.init(payload)
            case GuestRequest.STEP:
                return instance.step(payload)
            case GuestRequest.ON_TOKEN:
                return instance.on_token(payload).to_bytes(4, "little")
            case GuestRequest.DESCRIBE:
                return pack_description(instance.describe())
            case _:
                assert_never(request)
