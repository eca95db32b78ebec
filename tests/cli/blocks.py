"""Blocks that return a fixed sequence of commands, whatever they are told."""

import json
from collections.abc import Sequence
from pathlib import Path

import wasmtime

from cuttlebone_abi import Json

HOSTILE = "\x1b[2J\x9b31m[bold red]boo[/] \u202edrow"
"""Clears a screen, colours it in two ways, is Rich markup, and turns the direction of writing."""


def block(commands: Sequence[dict[str, Json]]) -> bytes:
    """A block that returns these commands one after the other, and then never returns."""
    texts = [json.dumps(command).encode() for command in commands]
    address, descriptors = 4096, b""
    for text in texts:
        descriptors += address.to_bytes(4, "little") + len(text).to_bytes(4, "little")
        address += len(text)
    return bytes(
        wasmtime.wat2wasm(f"""(module
          (memory (export "memory") 1)
          (global $next (mut i32) (i32.const 0))
          (data (i32.const 16) "{_hex(descriptors)}")
          (data (i32.const 4096) "{_hex(b"".join(texts))}")
          (func $command (result i32)
            (if (i32.ge_u (global.get $next) (i32.const {len(texts)}))
              (then (loop $for_ever (br $for_ever))))
            (global.set $next (i32.add (global.get $next) (i32.const 1)))
            (i32.add (i32.const 8) (i32.mul (global.get $next) (i32.const 8))))
          (func (export "cf_alloc") (param i32) (result i32) (i32.const 32768))
          (func (export "cf_init") (param i32 i32) (result i32) (call $command))
          (func (export "cf_step") (param i32 i32) (result i32) (call $command)))""")
    )


def write_specs(folder: Path) -> Path:
    """Write one spec for each way in which a job can end."""
    done = {"cmd": "done", "result": {"said": HOSTILE}}
    _write(folder, "complete", [{"cmd": "emit", "progress": {"saying": HOSTILE}}, done])
    _write(folder, "fail", [{"cmd": "fail", "code": "no_luck", "message": HOSTILE}])
    _write(folder, "spin", [{"cmd": "emit", "progress": "spinning"}])
    return folder


def _write(folder: Path, name: str, commands: Sequence[dict[str, Json]]) -> None:
    (folder / f"{name}.wasm").write_bytes(block(commands))
    (folder / f"{name}.yaml").write_text(
        f"name: {name}\ndescription: A job that does {name}.\nblock: {name}.wasm\n"
        "input: {type: object, required: [word], properties: {word: {type: string}}}\n"
    )


def _hex(data: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in data)
