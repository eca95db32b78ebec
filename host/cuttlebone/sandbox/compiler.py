"""From wasm to a compiled artefact, through memory and the cache on disk."""

import threading
from collections import OrderedDict
from typing import Final

import wasmtime

from cuttlebone.errors import BlockRefused
from cuttlebone.sandbox.cache import ArtefactCache
from cuttlebone.sandbox.engine import new_engine, settings_digest
from cuttlebone.text import printable

KEPT_BYTES_MAX: Final = 256 << 20

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


class Compiler:
    """Compiles each module once. Thread-safe; `_lock` guards `_kept` alone, not the compilation.

    Two threads that ask for the same new module may both compile it; both get equal bytes.
    """

    def __init__(self, cache: ArtefactCache | None) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def artefact(self, digest: str, wasm: bytes, *, metered: bool) -> bytes:
        """The compiled form of `wasm`, whose digest is `digest`; raise BlockRefused if it is invalid."""
        name = f"{digest.removeprefix('sha256:')}-{settings_digest(metered=metered)[:32]}"
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        artefact = None if self._cache is None else self._cache.get(name)
        if artefact is None:
            artefact = compile_module(wasm, metered=metered)
            if self._cache is not None:
                self._cache.put(name, artefact)
        with self._lock:
            self._kept[name] = artefact
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > KEPT_BYTES_MAX:
                self._kept.popitem(last=False)
        return artefact


def compile_module(wasm: bytes, *, metered: bool) -> bytes:
    """Validate and compile; raise BlockRefused with what to change in the build."""
    engine = new_engine(metered=metered)
    try:
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
