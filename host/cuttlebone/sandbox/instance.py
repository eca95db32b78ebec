"""The ABI over one wasm instance: buffers, descriptors, exports. No threads, no processes.

A job thread and a guest process both drive this class, so that a guest meets the same checks
wherever it runs. See docs/abi.md, "Module".
"""

from struct import Struct
from time import perf_counter_ns
from typing import Final

import wasmtime

from cuttlebone.errors import FaultKind, Interrupted, JobError
from cuttlebone.sandbox.calls import Calls, NativeCalls, WasmFunction
from cuttlebone.sandbox.description import Description
from cuttlebone.sandbox.engine import TABLE_ELEMENTS_MAX, new_engine
from cuttlebone.sandbox.guest import GuestAccounting, GuestLimits
from cuttlebone.sandbox.traps import exceeded, job_error
from cuttlebone_abi import ErrorCode

_DESCRIPTOR: Final = Struct("<II")
BUFFER_BYTES_MIN: Final = 1024
SIGNATURE_BYTES_MAX: Final = 64 << 10
PANIC_BYTES_MAX: Final = 64 << 10
_STOP: Final = 1


def checked_range(
    address: int, length: int, memory_bytes: int, what: str, fault: FaultKind
) -> None:
    """Refuse, as `fault`, a range that is not inside the memory; both numbers count as u32.

    Python's integers do not wrap, so the one comparison covers every negative and wrapping pair.
    """
    if address + length > memory_bytes:
        raise JobError(
            ErrorCode.WASM_TRAP,
            f"{what} lies outside the guest's memory: address {address}, {length} bytes, "
            f"but the memory has {memory_bytes}",
            fault=fault,
        )


def _missing(what: str) -> JobError:
    message = f"the module exports no {what}"
    return JobError(ErrorCode.WASM_TRAP, message, fault=FaultKind.EXPORT_MISSING)


class Instance:
    """A Guest in this thread: one store with one instance of a compiled module.

    Owned by the thread that made it. Invariants: no wasm runs before `init` or `describe`;
    `_buffer_bytes` bytes at `_buffer` lie in the memory, which never shrinks; after a JobError or
    Interrupted the instance is not entered again, which the guests around this class see to; nor
    is it once `_trapped` is set.
    """

    def __init__(
        self,
        artefact: bytes,
        limits: GuestLimits,
        *,
        wants_tokens: bool = False,
        engine: wasmtime.Engine | None = None,
    ) -> None:
        """Load the code into `engine`, which must suit `limits` and nobody else may use, or a new one.

        An engine that is given is not closed.
        """
        self.wants_tokens = wants_tokens
        self._limits = limits
        metered = limits.fuel is not None
        self._engine = engine or new_engine(metered=metered, stack_bytes=limits.stack_bytes)
        self._owns_engine = engine is None
        self._module = wasmtime.Module.deserialize(self._engine, artefact)
        self._store = wasmtime.Store(self._engine)
        self._store.set_limits(limits.memory_bytes, TABLE_ELEMENTS_MAX, 1, 4, 1)
        # The epoch moves only when somebody interrupts: there is no clock in here.
        self._store.set_epoch_deadline(1)
        if limits.fuel is not None:
            self._store.set_fuel(limits.fuel)
        self._calls: Calls | None = None
        self._alloc: WasmFunction | None = None
        self._payload_calls: dict[str, WasmFunction] = {}
        self._buffer = 0
        self._buffer_bytes = 0
        self._trapped: JobError | None = None
        self._guest_ns = 0
        self._steps = 0

    @property
    def accounting(self) -> GuestAccounting:
        """What was used up to the last call's return."""
        fuel = None
        if self._limits.fuel is not None:
            fuel = self._limits.fuel - self._store.get_fuel()
        return GuestAccounting(self._guest_ns / 1e6, self._memory_bytes(), self._steps, fuel)

    def init(self, payload: bytes) -> bytes:
        """Instantiate, initialise, call `cf_init`; return the command's bytes."""
        self._start()
        return self._command("cf_init", payload)

    def step(self, payload: bytes) -> bytes:
        """Call `cf_step` with one event; return the command's bytes."""
        return self._command("cf_step", payload)

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token` with one piece of text; return its verdict."""
        if self._trapped is not None:
            return _STOP
        try:
            return self._call_with_payload("cf_on_token", piece)
        except JobError as error:
            self._trapped = self._with_last_words(error)
            if not self._trapped.last_words:
                raise
            return _STOP  # the next step says them

    def describe(self) -> Description:
        """Instantiate, initialise, and ask for ABI version and signature."""
        self._start()
        calls = self._live()
        version, signature = calls.function("cf_abi_version", 0), calls.function("cf_signature", 0)
        stated = None if version is None else self._enter("cf_abi_version", version)
        if signature is None:
            return Description(stated, None)
        result = self._enter("cf_signature", signature)
        described = self._described("cf_signature", result, "signature_bytes", SIGNATURE_BYTES_MAX)
        return Description(stated, described)

    def interrupt(self) -> None:
        """Stop the call that runs now or the next one. From any thread, while the instance is open."""
        self._engine.increment_epoch()

    def close(self) -> None:
        """Free store, module and engine; nobody may be inside any of them."""
        self._calls = None
        self._alloc = None
        self._payload_calls.clear()
        self._store.close()
        self._module.close()
        if self._owns_engine:
            self._engine.close()

    def _start(self) -> None:
        began = perf_counter_ns()
        try:
            instance = wasmtime.Instance(self._store, self._module, [])
            self._calls = NativeCalls(self._store, instance)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise job_error(error, "instantiation", self._limits, self._memory_bytes()) from None
        except KeyError:
            raise _missing("memory") from None
        finally:
            self._guest_ns += perf_counter_ns() - began
        if initialize := self._calls.function("_initialize", 0):
            self._enter("_initialize", initialize)

    def _command(self, name: str, payload: bytes) -> bytes:
        self._steps += 1
        if self._trapped is not None:
            raise self._trapped
        try:
            result = self._call_with_payload(name, payload)
        except JobError as error:
            raise self._with_last_words(error) from None
        command = self._described(name, result, "command_bytes", self._limits.command_bytes)
        if not command:
            null = ", at the null pointer" if result == 0 else ""
            message = f"{name} returned a descriptor of an empty command{null}"
            raise JobError(ErrorCode.WASM_TRAP, message, fault=FaultKind.DESCRIPTOR)
        return command

    def _with_last_words(self, error: JobError) -> JobError:
        """`error` with the command that the guest left when it panicked, if it left one.

        A wasm function ends in a panic only by trapping. The memory outlives it, and with it what the
        panic wrote there; whatever else goes wrong here, the trap is what the author has to hear of.
        """
        recall = self._live().function("cf_panic", 0)
        if error.code is not ErrorCode.WASM_TRAP or recall is None:
            return error
        try:
            descriptor = self._enter("cf_panic", recall)
            words = self._described("cf_panic", descriptor, "panic_bytes", PANIC_BYTES_MAX)
        except JobError:
            return error
        return JobError(
            error.code, error.message, fault=error.fault, last_words=words if descriptor else b""
        )

    def _call_with_payload(self, name: str, payload: bytes) -> int:
        function = self._payload_calls.get(name) or self._bind(name, 2)
        self._payload_calls[name] = function
        if len(payload) > self._buffer_bytes:
            self._grow_buffer(len(payload))
        self._live().write(self._buffer, payload)
        return self._enter(name, function, self._buffer, len(payload))

    def _grow_buffer(self, needed: int) -> None:
        # Doubling: there is no call to free a buffer, and payloads that creep up by a byte must
        # not cost a guest one buffer each.
        size = max(needed, BUFFER_BYTES_MIN, 2 * self._buffer_bytes)
        self._alloc = self._alloc or self._bind("cf_alloc", 1)
        address = self._enter("cf_alloc", self._alloc, size)
        memory_bytes = self._memory_bytes()
        if address == 0:
            raise JobError(
                ErrorCode.WASM_TRAP,
                f"cf_alloc returned the null pointer for {size} bytes: the guest's allocator is "
                f"out of memory ({memory_bytes} of {self._limits.memory_bytes} bytes are taken)",
                fault=FaultKind.ALLOCATOR,
            )
        what = "the buffer that cf_alloc returned"
        checked_range(address, size, memory_bytes, what, FaultKind.ALLOCATOR)
        self._buffer, self._buffer_bytes = address, size

    def _described(self, name: str, descriptor: int, limit: str, bytes_max: int) -> bytes:
        calls = self._live()
        memory_bytes = calls.memory_bytes()
        what = f"the descriptor that {name} returned"
        checked_range(descriptor, 8, memory_bytes, what, FaultKind.DESCRIPTOR)
        address, length = _DESCRIPTOR.unpack(calls.read(descriptor, 8))
        what = f"the payload that {name} returned"
        checked_range(address, length, memory_bytes, what, FaultKind.DESCRIPTOR)
        if length > bytes_max:
            what = f"{name} returned {length} bytes, but at most {bytes_max} may be"
            raise exceeded(limit, what, stated=limit == "command_bytes")
        return calls.read(address, length)

    def _enter(self, name: str, function: WasmFunction, *arguments: int) -> int:
        began = perf_counter_ns()
        try:
            return function(*arguments)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise job_error(error, name, self._limits, self._memory_bytes()) from None
        finally:
            self._guest_ns += perf_counter_ns() - began

    def _bind(self, name: str, arity: int) -> WasmFunction:
        function = self._live().function(name, arity)
        if function is None:
            raise _missing(f"function {name}")
        return function

    def _live(self) -> Calls:
        if self._calls is None:
            raise Interrupted("the instance has not been started")
        return self._calls

    def _memory_bytes(self) -> int:
        return 0 if self._calls is None else self._calls.memory_bytes()
