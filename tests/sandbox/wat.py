"""WAT modules that keep the ABI but for the one thing that a test is about."""

from collections.abc import Callable

from cuttlebone.sandbox import Guest

Opener = Callable[..., Guest]
"""Called with WAT text and, if not the default, GuestLimits."""

COMMAND = '{"cmd":"done","result":1}'


def block(
    *,
    init: str = "(i32.const 16)",
    step: str = "(i32.const 16)",
    alloc: str = "(i32.const 4096)",
    memory: str = '(memory (export "memory") 1)',
    extra: str = "",
) -> str:
    """A module whose exports have the given bodies; address 16 describes a `done` command."""
    text = COMMAND.replace('"', '\\"')
    return f"""(module
      {memory}
      (data (i32.const 16) "\\20\\00\\00\\00\\{len(COMMAND):02x}\\00\\00\\00")
      (data (i32.const 32) "{text}")
      (func (export "cf_alloc") (param i32) (result i32) {alloc})
      (func (export "cf_init") (param i32 i32) (result i32) {init})
      (func (export "cf_step") (param i32 i32) (result i32) {step})
      {extra})"""


def described(address: int, length: int) -> str:
    """Instructions that return a descriptor of this range."""
    return f"""(i32.store (i32.const 8) (i32.const {address}))
      (i32.store (i32.const 12) (i32.const {length})) (i32.const 8)"""
