"""Wasm binaries put together by hand, right or wrong. Format: WebAssembly core specification, chapter 5."""

from collections.abc import Iterable, Sequence

import wasmtime

HEADER = b"\0asm\1\0\0\0"
TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA = range(1, 12)
END = b"\x0b"
I32 = b"\x7f"
NO_LOCALS = b"\0"


def u32(number: int) -> bytes:
    """LEB128, unsigned."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + u32(len(content)) + content


def vector(items: Sequence[bytes]) -> bytes:
    return u32(len(items)) + b"".join(items)


def name(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return u32(len(raw)) + raw


def function_type(taken: bytes = b"", given: bytes = b"") -> bytes:
    return b"\x60" + u32(len(taken)) + taken + u32(len(given)) + given


def export(text: str | bytes, kind: int, index: int) -> bytes:
    return name(text) + bytes([kind]) + u32(index)


def local_groups(*counts: int) -> bytes:
    return u32(len(counts)) + b"".join(u32(count) + I32 for count in counts)


def body(code: bytes, local: bytes = NO_LOCALS) -> bytes:
    return u32(len(local) + len(code) + 1) + local + code + END


def module(*sections: bytes) -> bytes:
    return HEADER + b"".join(sections)


def block_with(
    *,
    bodies: Iterable[bytes] = (),
    extra_exports: Iterable[bytes] = (),
    extra_types: Iterable[bytes] = (),
    more: bytes = b"",
) -> bytes:
    """A block that keeps the ABI, with further functions of type `(i32) -> i32` and whatever else."""
    further = list(bodies)
    call = function_type(I32 + I32, I32)
    address_16 = body(b"\x41\x10")
    return module(
        section(TYPE, vector([function_type(I32, I32), call, *extra_types])),
        section(FUNCTION, vector([b"\0", b"\1", b"\1", *[b"\0"] * len(further)])),
        section(MEMORY, vector([b"\0\1"])),
        section(
            EXPORT,
            vector(
                [
                    export("memory", 2, 0),
                    export("cf_alloc", 0, 0),
                    export("cf_init", 0, 1),
                    export("cf_step", 0, 2),
                    *extra_exports,
                ]
            ),
        ),
        section(CODE, vector([body(b"\x41\x80\x20"), address_16, address_16, *further])),
        section(DATA, vector([_describes_done()])),
        more,
    )


def _describes_done() -> bytes:
    command = b'{"cmd":"done","result":1}'
    content = (24).to_bytes(4, "little") + len(command).to_bytes(4, "little") + command
    return b"\0\x41\x10\x0b" + u32(len(content)) + content


def guest_that_says(command: bytes) -> bytes:
    """A block that returns `command` whenever it is called, on however many pages that takes."""
    pages = 1 + (len(command) + 4096) // 65536
    data = "".join(f"\\{byte:02x}" for byte in command)
    length = "".join(f"\\{byte:02x}" for byte in len(command).to_bytes(4, "little"))
    text = f"""(module
      (memory (export "memory") {pages + 1})
      (data (i32.const 16) "\\00\\10\\00\\00{length}")
      (data (i32.const 4096) "{data}")
      (func (export "cf_alloc") (param i32) (result i32) (i32.const {pages * 65536}))
      (func (export "cf_init") (param i32 i32) (result i32) (i32.const 16))
      (func (export "cf_step") (param i32 i32) (result i32) (i32.const 16)))"""
    return bytes(wasmtime.wat2wasm(text))
