"""What calls into an instance must do, in the public API of wasmtime: the reference to compare with."""

import wasmtime

from cuttlebone.sandbox.calls import U32_MASK, WasmFunction


class PublicCalls:
    """`Calls` without the C API."""

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
            return (result or 0) & U32_MASK

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
