"""wasmtime's settings, all of them decided here: one list, the same for compiling and running."""

import hashlib
from typing import Final

import wasmtime

_OFF: Final = (
    "wasm_threads",
    "shared_memory",
    "wasm_memory64",
    "wasm_multi_memory",
    "wasm_gc",
    "wasm_function_references",
    "wasm_exceptions",
    "wasm_tail_call",
    # Reading the type of a v128 export aborts the process; relaxed SIMD is not deterministic.
    "wasm_simd",
    "wasm_relaxed_simd",
    "wasm_wide_arithmetic",
    "wasm_custom_page_sizes",
    "wasm_stack_switching",
    "wasm_component_model",
    # A compiler thread pool would outlive the compilation and not survive a fork.
    "parallel_compilation",
    "native_unwind_info",
    "debug_info",
    # Copy-on-write images need one memfd a module, which the locked process may not create.
    "memory_init_cow",
    # With the whole 4 GiB reserved a memory never moves, so its address is read once.
    "memory_may_move",
)
_ON: Final = (
    "epoch_interruption",
    # Bit for bit the same results everywhere: replaying a job depends on it.
    "cranelift_nan_canonicalization",
    "wasm_bulk_memory",
    "wasm_multi_value",
    # Switching reference types off aborts the process in Engine().
    "wasm_reference_types",
    "signals_based_traps",
)
MEMORY_RESERVATION_BYTES: Final = 4 << 30
MEMORY_GUARD_BYTES: Final = 32 << 20
RESERVED_BYTES: Final = 2 * (MEMORY_RESERVATION_BYTES + 4 * MEMORY_GUARD_BYTES) + (512 << 20)
"""Address space that a process needs for one guest, without its being memory.

Twice that of its memory: wasmtime keeps external references in a heap that reserves as much.
"""
TABLE_ELEMENTS_MAX: Final = 100_000


def new_engine(*, metered: bool, stack_bytes: int = 512 << 10) -> wasmtime.Engine:
    """One engine. Each run of a guest has its own, so that moving its epoch stops that guest alone."""
    config = wasmtime.Config()
    for name in _OFF:
        setattr(config, name, False)
    for name in _ON:
        setattr(config, name, True)
    config.consume_fuel = metered
    config.max_wasm_stack = stack_bytes
    config.memory_reservation = MEMORY_RESERVATION_BYTES
    config.memory_guard_size = MEMORY_GUARD_BYTES
    config.cranelift_opt_level = "speed"
    return wasmtime.Engine(config)


def settings_digest(wasmtime_version: str, *, metered: bool) -> str:
    """Names everything that a compiled module depends on besides its wasm: version and settings."""
    stated = (wasmtime_version, _OFF, _ON, MEMORY_RESERVATION_BYTES, MEMORY_GUARD_BYTES, metered)
    return hashlib.sha256(repr(stated).encode()).hexdigest()
