"""Everything that touches wasm: admission, compiling, guests. The only importer of wasmtime.

A name is loaded when it is first used: Python imports a package before any module in it, and a
process in which a guest runs must not have all in memory that admits one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cuttlebone.locked_process.lockdown import Layer
    from cuttlebone.sandbox.block import Block
    from cuttlebone.sandbox.cache import damaged_in
    from cuttlebone.sandbox.compiler import CompileLimits
    from cuttlebone.sandbox.guest import Guest, GuestAccounting, GuestLimits
    from cuttlebone.sandbox.sandbox import Sandbox

_HOMES: Final = {
    "Block": "cuttlebone.sandbox.block",
    "CompileLimits": "cuttlebone.sandbox.compiler",
    "Guest": "cuttlebone.sandbox.guest",
    "GuestAccounting": "cuttlebone.sandbox.guest",
    "GuestLimits": "cuttlebone.sandbox.guest",
    "Layer": "cuttlebone.locked_process.lockdown",
    "Sandbox": "cuttlebone.sandbox.sandbox",
    "damaged_in": "cuttlebone.sandbox.cache",
}


if not TYPE_CHECKING:  # which knows every name by its import

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


__all__ = [
    "Block",
    "CompileLimits",
    "Guest",
    "GuestAccounting",
    "GuestLimits",
    "Layer",
    "Sandbox",
    "damaged_in",
]
