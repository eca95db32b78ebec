"""What a guest process has with it from birth, and the dry run that makes its first call a fast one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import wasmtime

from cuttlebone.errors import JobError
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.sandbox.guest import GuestLimits
from cuttlebone.sandbox.instance import Instance

# Goes every way that a guest can go: a call, a command, a trap in a function whose name has to be
# escaped. What is done for the first time after the lock-down must not need a file.
_GUEST: Final = """(module (memory (export "memory") 1)
  (data (i32.const 0) "\\08\\00\\00\\00\\01\\00\\00\\00x")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 0))
  (func $s (@name "\\1b") (param i32 i32) (result i32) (unreachable))
  (export "cf_step" (func $s)))"""


@dataclass(frozen=True, slots=True)
class Equipment:
    """Made once in the zygote; each fork has its copy for itself."""

    engines: Mapping[tuple[bool, int], wasmtime.Engine]
    """By whether they are metered and their `stack_bytes`. Making one takes longer than a short job."""
    warm_up_module: bytes
    """A compiled guest to warm_up with."""

    def engine_for(self, limits: GuestLimits) -> wasmtime.Engine | None:
        """The engine that suits these limits, if there is one."""
        return self.engines.get((limits.fuel is not None, limits.stack_bytes))


def equip() -> Equipment:
    """Make the engines and the guest to warm_up with."""
    stack_bytes = GuestLimits().stack_bytes
    engines = {
        (metered, stack_bytes): new_engine(metered=metered, stack_bytes=stack_bytes)
        for metered in (False, True)
    }
    wasm = bytes(wasmtime.wat2wasm(_GUEST))
    return Equipment(engines, compile_module(wasm, metered=False))


def warm_up(equipment: Equipment) -> None:
    """Run the guest to its trap: whatever is done lazily has then been done."""
    limits = GuestLimits()
    instance = Instance(equipment.warm_up_module, limits, equipment.engine_for(limits))
    instance.init(b"{}")
    with suppress(JobError):
        instance.step(b"{}")
    instance.close()
