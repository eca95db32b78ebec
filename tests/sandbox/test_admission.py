"""Which modules become blocks, and what the others are told."""

from collections.abc import Callable

import pytest
import wasmtime

from cuttlebone.errors import BlockRefused
from cuttlebone.sandbox import Sandbox
from sandbox.wat import block, described


def faults(sandbox: Sandbox, module: str | bytes) -> tuple[str, ...]:
    wasm = bytes(wasmtime.wat2wasm(module)) if isinstance(module, str) else module
    with pytest.raises(BlockRefused) as caught:
        sandbox.admit(wasm)
    return tuple(map(str, caught.value.faults))


def test_a_block_is_known_by_digest_signature_and_exports(
    sandbox: Sandbox, guest_wasm: Callable[[str], bytes]
) -> None:
    wasm = guest_wasm("declared")
    admitted = sandbox.admit(wasm)
    assert admitted.digest.startswith("sha256:")
    assert admitted.size_bytes == len(wasm)
    assert str(admitted.signature) == "{path: text} -> [number]"
    assert admitted.abi_version == 1
    assert admitted.wants_tokens
    assert admitted.exports["cf_init"] == "(i32, i32) -> i32"
    assert admitted.memory_bytes_min == 65536


def test_a_block_that_declares_nothing_takes_and_gives_any_json(sandbox: Sandbox) -> None:
    admitted = sandbox.admit(bytes(wasmtime.wat2wasm(block())))
    assert str(admitted.signature) == "json -> json"
    assert not admitted.wants_tokens


def test_the_same_bytes_are_admitted_once(sandbox: Sandbox) -> None:
    wasm = bytes(wasmtime.wat2wasm(block()))
    assert sandbox.admit(wasm) is sandbox.admit(bytes(bytearray(wasm)))


def test_every_import_is_named_with_its_remedy(sandbox: Sandbox) -> None:
    told = faults(
        sandbox,
        """(module
          (import "env" "abort" (func (param i32 i32 i32 i32)))
          (import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32)))
          (import "env" "memory" (memory 1))
          (import "env" "qsort" (func))
          (import "wbg" "__wbindgen_throw" (func))
          (import "else" "where" (global i32)))""",
    )
    assert "--use abort=" in told[0]
    assert "wasm32-unknown-unknown" in told[1]
    assert "--import-memory" in told[2]
    assert "--allow-undefined" in told[3]
    assert "wasm-bindgen" in told[4]
    assert "`else.where`" in told[5]


def test_every_missing_and_mistyped_export_is_named_with_the_type_it_should_have(
    sandbox: Sandbox,
) -> None:
    told = faults(
        sandbox,
        """(module
          (func (export "memory"))
          (func (export "cf_init") (param i64 i32) (result i32) (i32.const 0))
          (global (export "cf_step") i32 (i32.const 0))
          (func (export "cf_signature") (result f64) (f64.const 0)))""",
    )
    assert told == (
        "exports `memory` as () -> (), but it must be memory",
        "does not export `cf_alloc`, which must be (i32) -> i32",
        "exports `cf_init` as (i64, i32) -> i32, but it must be (i32, i32) -> i32",
        "exports `cf_step` as global, but it must be (i32, i32) -> i32",
        "exports `cf_signature` as () -> f64, but it must be () -> i32",
    )


@pytest.mark.parametrize(
    ("module", "saying"),
    [
        (b"", "not a WebAssembly module"),
        (b"\x7fELF" + b"\0" * 99, "not a WebAssembly module"),
        (b"(module)", "WebAssembly text"),
        (b"\0asm\x0d\0\1\0", "component"),
        (b"\0asm\2\0\0\0", "version"),
        (b"\0asm\1\0\0\0\1", "ends early"),
        (b"\0asm\1\0\0\0\1\xff\xff\xff\xff\xff\1", "longer than 32 bits"),
        (b"\0asm\1\0\0\0\1\x7f", "127 bytes announced"),
        (b"\0asm\1\0\0\0\x0e\0", "section 14 is unknown"),
        (b"\0asm\1\0\0\0\3\1\0\1\1\0", "out of order"),
        (b"\0asm\1\0\0\0\1\5\xa1\x8d\6\0\0", "100001 types"),
        (b"\0asm\1\0\0\0\1\2\1\x5f", "GC proposal"),
        (b"\0asm\1\0\0\0\1\4\1\x60\1\x63", "a proposal that is off"),
        (b"\0asm\1\0\0\0" + b"\0\1\0" * 1001, "more than 1000 sections"),
        (bytes((16 << 20) + 1), "at most 16777216"),
    ],
)
def test_what_is_no_core_module_is_refused_by_the_scan(
    sandbox: Sandbox, module: bytes, saying: str
) -> None:
    (told,) = faults(sandbox, module)
    assert saying in told


@pytest.mark.parametrize(
    ("module", "saying"),
    [
        (block(memory='(memory (export "memory") i64 1)', init="(i32.const 0)"), "64-bit"),
        (block(memory='(memory (export "memory") 1 1 shared)'), "shared"),
        (block(memory='(memory (export "memory") 1) (memory 1)'), "2 memories"),
        (block(extra="(func (drop (v128.const i32x4 0 0 0 0)))"), "SIMD"),
        (block(extra='(func (export "v") (param v128))'), "SIMD"),
        (block(extra="(func $t (return_call $t))"), "tail calls"),
        (block(extra="(tag) "), "exceptions"),
    ],
)
def test_features_that_are_off_are_named(sandbox: Sandbox, module: str, saying: str) -> None:
    assert any(saying in fault for fault in faults(sandbox, module))


def test_an_invalid_function_body_is_refused_by_validation(sandbox: Sandbox) -> None:
    wasm = bytes(wasmtime.wat2wasm(block(init="(i32.const 16)")))
    (told,) = faults(sandbox, wasm.replace(b"\x41\x10\x0b", b"\x42\x10\x0b", 1))
    assert told.startswith("not a valid module")


def test_a_newer_abi_version_is_refused(sandbox: Sandbox) -> None:
    extra = '(func (export "cf_abi_version") (result i32) (i32.const 2))'
    (told,) = faults(sandbox, block(extra=extra))
    assert "ABI version 2, but this host speaks 1" in told


@pytest.mark.parametrize(
    ("body", "saying"),
    [
        ("(i32.const 16)", "cf_signature is wrong"),
        ("(i32.const -1)", "outside the guest's memory"),
        (described(0, 65537 - 1), "signature"),
        ("(unreachable)", "unreachable"),
    ],
)
def test_a_wrong_signature_is_refused(sandbox: Sandbox, body: str, saying: str) -> None:
    told = faults(sandbox, block(extra=f'(func (export "cf_signature") (result i32) {body})'))
    assert saying in told[0]


@pytest.mark.parametrize(
    "extra",
    [
        "(func $s (loop $l (br $l))) (start $s)",
        '(func (export "_initialize") (loop $l (br $l)))',
        '(func (export "cf_signature") (result i32) (loop $l (br $l)) unreachable)',
    ],
)
def test_a_module_that_never_gets_ready_is_refused_in_bounded_time(
    sandbox: Sandbox, extra: str
) -> None:
    (told,) = faults(sandbox, block(extra=extra))
    assert "did not end within" in told


def test_names_in_messages_cannot_move_a_cursor(sandbox: Sandbox) -> None:
    (told, *_) = faults(sandbox, '(module (import "\\1b[2J" "\\n" (func)))')
    assert told.isprintable()
