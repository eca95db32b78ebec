"""From wasm to machine code, in whichever process it is called; and what its refusals mean."""

from typing import Final

import wasmtime

from cuttlebone.errors import BlockRefused, Fault, FaultKind
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.sandbox.remedies import advised
from cuttlebone.text import printable

# wasmtime says what it refuses in English alone. The first sign that is found counts.
_SIGNS: Final = (
    ("SIMD support is not enabled", FaultKind.SIMD, "it uses SIMD, which is off"),
    ("relaxed SIMD", FaultKind.RELAXED_SIMD, "it uses relaxed SIMD, which is off"),
    (
        "threads support is not enabled",
        FaultKind.THREADS,
        "it uses atomics or shared memory, which are off",
    ),
    ("exceptions", FaultKind.EXCEPTIONS, "it uses exceptions, which are off"),
    ("tail calls", FaultKind.TAIL_CALLS, "it uses tail calls, which are off"),
    ("memory64", FaultKind.MEMORY64, "it uses memory64, which is off"),
    ("multi-memory", FaultKind.MULTI_MEMORY, "it has several memories"),
    ("gc", FaultKind.OTHER_PROPOSAL, "it uses garbage-collected types, which are off"),
    (
        "function references",
        FaultKind.OTHER_PROPOSAL,
        "it uses typed function references, which are off",
    ),
    ("wide arithmetic", FaultKind.WIDE_ARITHMETIC, "it uses wide arithmetic, which is off"),
)


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


def _validation_fault(text: str) -> Fault:
    for sign, kind, message in _SIGNS:
        if sign in text:
            return advised(kind, message)
    detail = printable(" ".join(text.split()).removeprefix("failed to parse WebAssembly module "))
    message = f"not a valid module: {detail.removeprefix('Caused by: ')}"
    return advised(FaultKind.INVALID, message)
