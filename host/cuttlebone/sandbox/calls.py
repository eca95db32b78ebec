"""Calls into one wasm instance through wasmtime's C API.

A call by the public Python API costs 35 to 160 µs, most of it in wrapping types; the C API through
the same package's bindings costs 1 to 2 µs. What `NativeCalls` must do stands in plain wasmtime-py
in `tests/sandbox/public_calls.py`, and the tests hold both to the same answers.

Addresses are checked by `cuttlebone.sandbox.instance`, against `memory_bytes()`, which it asks
after every call that may have grown the memory.
"""

from collections.abc import Callable
from ctypes import POINTER, addressof, byref, c_ubyte
from typing import Final, Protocol

import wasmtime
from wasmtime import _bindings
from wasmtime import _ffi as ffi
from wasmtime._exportable import AsExtern
from wasmtime._extern import wrap_extern

WasmFunction = Callable[..., int]
"""Takes u32 arguments, returns a u32 (0 for a function without result); raises wasmtime's errors."""

U32_MASK: Final = 0xFFFFFFFF


class Calls(Protocol):
    """One instance: its exported functions and its memory. Owned by the thread that made it."""

    def function(self, name: str, arity: int) -> WasmFunction | None:
        """The exported function `name` of `arity` i32 parameters, or None if there is none."""

    def memory_bytes(self) -> int:
        """Current size of the memory. Ranges up to what it last said can be read and written."""

    def read(self, address: int, length: int) -> bytes:
        """A copy of a range that lies in the memory."""

    def write(self, address: int, data: bytes) -> None:
        """Copy `data` to a range that lies in the memory."""


class NativeCalls:
    """Keeps store and instance alive; useless once the store is closed.

    Invariant: `_view` covers the memory as it was when last looked at, never more. A memory never
    shrinks, and engine settings reserve its whole address space, so it never moves either.
    """

    __slots__ = ("_context", "_instance", "_memory", "_store", "_view")

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        self._store = store
        self._instance = instance
        self._context = store._context()  # noqa: SLF001  # the bindings take the raw context
        memory = self._export("memory")
        if not isinstance(memory, wasmtime.Memory):
            raise KeyError("memory")
        self._memory = byref(memory._memory)  # noqa: SLF001  # the bindings take the raw handle
        self._view = memoryview(bytearray())

    def function(self, name: str, arity: int) -> WasmFunction | None:  # noqa: ARG002  # see below
        """Bind one export; its argument array and trap slot are made once and used for every call.

        The callee reads as many of the two slots as it has parameters, so arity changes nothing.
        """
        function = self._export(name)
        if not isinstance(function, wasmtime.Func):
            return None
        by_function = byref(function._func)  # noqa: SLF001  # the bindings take the raw handle
        # The wrapper without the underscore only adds a Python frame.
        call = _bindings._wasmtime_func_call_unchecked  # noqa: SLF001  # as above
        context = self._context
        values = (ffi.wasmtime_val_raw_t * 2)()
        slot, slot_after = values[0], values[1]
        trap = POINTER(ffi.wasm_trap_t)()
        by_trap = byref(trap)

        def invoke(first: int = 0, second: int = 0) -> int:
            slot.i32 = first
            slot_after.i32 = second
            if error := call(context, by_function, values, 2, by_trap):
                raise wasmtime.WasmtimeError._from_ptr(error)  # noqa: SLF001  # takes ownership
            if trap:
                raise wasmtime.Trap._from_ptr(trap)  # noqa: SLF001  # takes ownership
            return slot.i32 & U32_MASK

        return invoke

    def memory_bytes(self) -> int:
        """Current size of the memory."""
        size: int = _bindings._wasmtime_memory_data_size(self._context, self._memory)  # noqa: SLF001  # without the extra frame
        if size != len(self._view):
            base = addressof(ffi.wasmtime_memory_data(self._context, self._memory).contents)
            self._view = memoryview((c_ubyte * size).from_address(base)).cast("B")
        return size

    def read(self, address: int, length: int) -> bytes:
        """A copy of a range that lies in the memory."""
        return bytes(self._view[address : address + length])

    def write(self, address: int, data: bytes) -> None:
        """Copy `data` to a range that lies in the memory."""
        self._view[address : address + len(data)] = data

    def _export(self, name: str) -> AsExtern | None:
        # By name: listing all exports first takes time quadratic in their number.
        encoded = name.encode()
        item = ffi.wasmtime_extern_t()
        instance = self._instance._instance  # noqa: SLF001  # the bindings take the raw handle
        found = ffi.wasmtime_instance_export_get(
            self._context, byref(instance), encoded, len(encoded), byref(item)
        )
        return wrap_extern(item) if found else None
