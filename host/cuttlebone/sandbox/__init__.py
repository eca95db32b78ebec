"""Everything that touches wasm: admission, compiling, guests. The only importer of wasmtime."""

from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.sandbox.block import Block
from cuttlebone.sandbox.cache import damaged_in
from cuttlebone.sandbox.compiler import CompileLimits
from cuttlebone.sandbox.guest import Guest, GuestAccounting, GuestLimits
from cuttlebone.sandbox.sandbox import Sandbox

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
