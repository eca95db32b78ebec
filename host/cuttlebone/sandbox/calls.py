"""Calls into one wasm instance, twice: through wasmtime's C API, and through its public Python API.

The public call costs 35 to 160 µs, most of it in wrapping types; the C API through the same
package's bindings costs 1 to 2 µs. `NativeCalls` is what runs; `PublicCalls` says in plain
wasmtime-py what it must do, and the tests hold both to the same answers.

Neither checks an address: `cuttlebone.sandbox.instance` does that, before every call here.
"""

from collections.abc import Callable
from ctypes import POINTER, addressof, byref, memmove, string_at
from typing import Protocol

import wasmtime
from wasmtime import _bindings
from wasmtime import _ffi as ffi
from wasmtime._exportable import AsExtern
from wasmtime._extern import wrap_extern

WasmFunction = Callable[..., int]
"""Takes u32 arguments, returns a u32 (0 for a function without result); raises wasmtime's errors."""

_U32 = 0xFFFFFFFF


class Calls(Protocol):
    """One instance: its exported functions and its memory. Owned by the thread that made it."""

    def function(self, name: str, arity: int) -> WasmFunction | None:
        """The exported function `name` of `arity` i32 parameters, or None if there is none."""

    def memory_bytes(self) -> int:
        """Current size of the memory."""

    def read(self, address: int, length: int) -> bytes:
        """A copy of a range that lies in the memory."""

    def write(self, address: int, data: bytes) -> None:
        """Copy `data` to a range that lies in the memory."""


class NativeCalls:
    """The fast one. Keeps store and instance alive; useless once the store is closed."""

    __slots__ = ("_base", "_context", "_instance", "_memory", "_store")

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        self._store = store
        self._instance = instance
        self._context = store._context()  # noqa: SLF001  # the bindings take the raw context
        memory = self._export("memory")
        if not isinstance(memory, wasmtime.Memory):
            raise KeyError("memory")
        self._memory = memory._memory  # noqa: SLF001  # the bindings take the raw handle
        # Engine settings reserve the whole address space of a memory, so the base never moves.
        self._base = addressof(
            ffi.wasmtime_memory_data(self._context, byref(self._memory)).contents
        )

    def function(self, name: str, arity: int) -> WasmFunction | None:
        """Bind one export; its argument array and trap slot are made once and used for every call."""
        function = self._export(name)
        if not isinstance(function, wasmtime.Func):
            return None
        raw = function._func  # noqa: SLF001  # the bindings take the raw handle
        # The wrapper without the underscore only adds a Python frame.
        call = _bindings._wasmtime_func_call_unchecked  # noqa: SLF001
        context = self._context
        values = (ffi.wasmtime_val_raw_t * max(arity, 1))()
        slots = tuple(values)
        first = slots[0]
        trap = POINTER(ffi.wasm_trap_t)()
        by_function, by_trap, count = byref(raw), byref(trap), len(values)

        def invoke(*arguments: int) -> int:
            for slot, argument in zip(slots, arguments, strict=False):
                slot.i32 = argument
            if error := call(context, by_function, values, count, by_trap):
                raise wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001  # takes ownership
            if trap:
                raise wasmtime.Trap._from_ptr(trap)  # noqa: SLF001  # takes ownership
            result: int = first.i32
            return result & _U32

        return invoke

    def memory_bytes(self) -> int:
        """Current size of the memory."""
        size: int = _bindings._wasmtime_memory_data_size(self._context, byref(self._memory))  # noqa: SLF001
        return size

    def read(self, address: int, length: int) -> bytes:
        """A copy of a range that lies in the memory."""
        return string_at(self._base + address, length)

    def write(self, address: int, data: bytes) -> None:
        """Copy `data` to a range that lies in the memory."""
        memmove(self._base + address, data, len(data))

    def _export(self, name: str) -> AsExtern | None:
        # By name: listing all exports first takes time quadratic in their number.
        encoded = name.encode()
        item = ffi.wasmtime_extern_t()
        instance = self._instance._instance  # noqa: SLF001  # the bindings take the raw handle
        found = ffi.wasmtime_instance_export_get(
            self._context, byref(instance), encoded, len(encoded), byref(item)
        )
        return wrap_extern(item) if found else None


class PublicCalls:
    """The same in wasmtime's public API: the reference that the tests compare with."""

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        self._store = store
        self._exports = instance.exports(store)
        memory = self._exports["memory"]
        if not isinstance(memory, wasmtime.Memory):
            raise KeyError("memory")
        self._memory = memory

    def function(self, name: str, arity: int) -> WasmFunction | None:
        """The exported function `name`, or None if there is none."""
        found = self._exports.get(name)
        if not isinstance(found, wasmtime.Func):
            return None
        function = found

        def invoke(*arguments: int) -> int:
            result = function(self._store, *(_signed(value) for value in arguments[:arity]))
            return (result or 0) & _U32

        return invoke

    def memory_bytes(self) -> int:
        """Current size of the memory."""
        return self._memory.data_len(self._store)

    def read(self, address: int, length: int) -> bytes:
        """A copy of a range that lies in the memory."""
        return bytes(self._memory.read(self._store, address, address + length))

    def write(self, address: int, data: bytes) -> None:
        """Copy `data` to a range that lies in the memory."""
        if data:
            self._memory.write(self._store, data, address)


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value
