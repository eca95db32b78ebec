"""From wasm to machine code, in whichever process it is called; and what its refusals mean."""

from typing import Final

import wasmtime

from cuttlebone.errors import BlockRefused
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.text import printable

_OFF_FEATURES: Final = {
    "SIMD support is not enabled": (
        "it uses SIMD, which is off; build without -msimd128 (C) or +simd128 (Rust)"
    ),
    "relaxed SIMD": "it uses relaxed SIMD, which is off; build without +relaxed-simd",
    "threads support is not enabled": (
        "it uses atomics or shared memory, which are off; build without -pthread and +atomics"
    ),
    "exceptions": "it uses exceptions, which are off; build with -fno-exceptions or panic=abort",
    "tail calls": "it uses tail calls, which are off; build without +tail-call",
    "memory64": "it uses memory64, which is off; compile for wasm32",
    "multi-memory": "it has several memories; build without multi-memory",
    "gc": "it uses garbage-collected types, which are off",
    "function references": "it uses typed function references, which are off",
    "wide arithmetic": "it uses wide arithmetic, which is off; build without +wide-arithmetic",
}


def compile_module(wasm: bytes, *, metered: bool) -> bytes:
    """Validate and compile; raise BlockRefused with what to change in the build."""
    engine = new_engine(metered=metered)
    try:
        # Validating by itself first names the fault and its place; compiling names only a function.
        wasmtime.Module.validate(engine, wasm)
        module = wasmtime.Module(engine, wasm)
        try:
            return bytes(module.serialize())
        finally:
            module.close()
    except wasmtime.WasmtimeError as error:
        raise BlockRefused((_validation_fault(str(error)),)) from None
    finally:
        engine.close()


def _validation_fault(text: str) -> str:
    for sign, fault in _OFF_FEATURES.items():
        if sign in text:
            return fault
    detail = printable(" ".join(text.split()).removeprefix("failed to parse WebAssembly module "))
    return f"not a valid module: {detail.removeprefix('Caused by: ')}"
