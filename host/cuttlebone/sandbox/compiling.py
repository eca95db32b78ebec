"""From wasm to machine code, in whichever process it is called; and what its refusals mean."""

import re
from typing import Final

import wasmtime

from cuttlebone.errors import BlockRefused, Fault, FaultKind
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.sandbox.remedies import advised
from cuttlebone.text import printable

# wasmtime says what it refuses in English alone. Its sentences are told by how they begin: further on
# they may quote names, which the module chooses.
_SENTENCES: Final = (
    (r"SIMD support", FaultKind.SIMD, "it uses SIMD, which is off"),
    (r"relaxed SIMD support", FaultKind.RELAXED_SIMD, "it uses relaxed SIMD, which is off"),
    (
        r"threads (support|must)",
        FaultKind.THREADS,
        "it uses atomics or shared memory, which are off",
    ),
    (r"exceptions (support|proposal)", FaultKind.EXCEPTIONS, "it uses exceptions, which are off"),
    (r"tail calls support", FaultKind.TAIL_CALLS, "it uses tail calls, which are off"),
    (r"memory64 must", FaultKind.MEMORY64, "it uses memory64, which is off"),
    (r"multiple memories", FaultKind.MULTI_MEMORY, "it has several memories"),
    (
        r"wide arithmetic support",
        FaultKind.WIDE_ARITHMETIC,
        "it uses wide arithmetic, which is off",
    ),
    (
        r"gc support|rec group|[a-z ]+ not supported without the gc",
        FaultKind.OTHER_PROPOSAL,
        "it uses garbage-collected types, which are off",
    ),
    (
        r"function references (support|required)",
        FaultKind.OTHER_PROPOSAL,
        "it uses typed function references, which are off",
    ),
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
    sentence = " ".join(text.split()).removeprefix("failed to parse WebAssembly module ")
    sentence = sentence.removeprefix("Caused by: ")
    for beginning, kind, message in _SENTENCES:
        if re.match(beginning, sentence):
            return advised(kind, message)
    return advised(FaultKind.INVALID, f"not a valid module: {printable(sentence)}")
