"""What to change in a build, by what is wrong and by the toolchain: the one table of remedies."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cuttlebone.errors import Fault, FaultKind


class Toolchain(StrEnum):
    """What a module was built with, as far as it matters for a flag."""

    C = "C"
    RUST = "Rust"
    ZIG = "Zig"
    ASSEMBLYSCRIPT = "AssemblyScript"
    GO = "Go"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Remedy:
    """What helps against one kind of fault."""

    whatever: str
    """With any toolchain, or an unknown one; empty where each needs its own."""
    flags: Mapping[Toolchain, str]


def _remedy(
    whatever: str = "",
    *,
    c: str = "",
    rust: str = "",
    zig: str = "",
    assemblyscript: str = "",
    go: str = "",
) -> _Remedy:
    flags = {
        Toolchain.C: c,
        Toolchain.RUST: rust,
        Toolchain.ZIG: zig,
        Toolchain.ASSEMBLYSCRIPT: assemblyscript,
        Toolchain.GO: go,
    }
    return _Remedy(whatever, MappingProxyType({name: flag for name, flag in flags.items() if flag}))


_TINYGO: Final = "TinyGo with -target=wasm-unknown"
_SMALL_STACK: Final = "-Wl,-z,stack-size=65536", "-C link-arg=-zstack-size=65536", "--stack 65536"

_REMEDIES: Final[Mapping[FaultKind, _Remedy]] = {
    FaultKind.NOT_WASM: _remedy("give the .wasm file that a current compiler has written"),
    FaultKind.COMPONENT: _remedy(
        "build a core module, for wasm32-unknown-unknown without wit-bindgen or `wasm-tools "
        "component new`"
    ),
    FaultKind.TEXT: _remedy("turn it into a binary first, for instance with wat2wasm"),
    FaultKind.MALFORMED: _remedy("build it again, and give the whole file"),
    FaultKind.INVALID: _remedy("build it again with a current compiler for wasm32"),
    FaultKind.SIZE: _remedy("build it for size, and leave out what it does not need"),
    FaultKind.COMPILE_COST: _remedy("split its largest functions"),
    FaultKind.IMPORT: _remedy(
        "define it or remove what declares it, and link without --allow-undefined",
        c="define the function, or stop calling it; take out -Wl,--allow-undefined",
        rust='take out the `extern "C"` block that declares it',
        zig="take out the `extern fn` that declares it",
        assemblyscript="take out the `declare function` or @external that declares it",
    ),
    FaultKind.IMPORT_ASSEMBLYSCRIPT: _remedy(
        "AssemblyScript: compile with --use abort= (and --use seed=, --use trace=), or do without "
        "Math.random and trace()",
        assemblyscript="add --use abort= (and --use seed=, --use trace=), or `use` in asconfig.json",
    ),
    FaultKind.IMPORT_BINDGEN: _remedy(
        "build without wasm-bindgen (a dependency may switch it on: `cargo tree --target "
        "wasm32-unknown-unknown -i wasm-bindgen` names it)",
        rust="take out the dependency that brings wasm-bindgen, which this names: "
        "cargo tree --target wasm32-unknown-unknown -i wasm-bindgen",
    ),
    FaultKind.IMPORT_CLOCK: _remedy(
        "a guest has no clock: let the input say the time, and do without measuring it"
    ),
    FaultKind.IMPORT_CONSOLE: _remedy(
        "a guest has no console: tell watchers with `emit`, or leave it out"
    ),
    FaultKind.IMPORT_GO: _remedy("compile with TinyGo, -target=wasm-unknown", go=_TINYGO),
    FaultKind.IMPORT_WASI: _remedy(
        "a guest has no operating system: compile for wasm32-unknown-unknown (Rust) or "
        "wasm32-freestanding (C, Zig), without a main function",
        c="-target wasm32-freestanding -Wl,--no-entry, instead of wasm32-wasi",
        rust="cargo build --target wasm32-unknown-unknown, instead of wasm32-wasip1",
        zig="-target wasm32-freestanding -fno-entry, instead of wasm32-wasi",
        assemblyscript="take @assemblyscript/wasi-shim out of asconfig.json",
        go=_TINYGO,
    ),
    FaultKind.IMPORT_MEMORY: _remedy(
        "do not build with threads or --import-memory (AssemblyScript: --importMemory)",
        c="take out -Wl,--import-memory",
        rust="take -C link-arg=--import-memory out of RUSTFLAGS and .cargo/config.toml",
        zig="take out --import-memory",
        assemblyscript="take out --importMemory",
    ),
    FaultKind.IMPORT_TABLE: _remedy(
        "link without --import-table",
        c="take out -Wl,--import-table",
        rust="take -C link-arg=--import-table out of RUSTFLAGS and .cargo/config.toml",
        zig="take out --import-table",
        assemblyscript="take out --importTable",
    ),
    FaultKind.EXPORT_MISSING: _remedy(
        c='#include "cuttlebone.h" and end with CF_BLOCK(start, step); own exports need '
        '__attribute__((export_name("cf_step")))',
        rust='crate-type = ["cdylib"] in Cargo.toml, and cuttlebone::export!(YourBlock)',
        zig="add -rdynamic, and declare the functions with `export fn`",
        assemblyscript="`export function` (or `export *`) in the entry file, assembly/index.ts",
        go="`//go:wasmexport cf_step` before the function, built by TinyGo",
    ),
    FaultKind.EXPORT_TYPE: _remedy(
        c="-target wasm32-freestanding, and size_t or uint32_t for pointers and lengths",
        rust='pub extern "C" fn with u32 or usize for pointers and lengths, for wasm32',
        zig="export fn with u32 or usize for pointers and lengths, for wasm32",
        assemblyscript="usize or u32 for pointers and lengths, i32 for the rest; no f64, no i64",
        go=f"uint32 for pointers and lengths, and {_TINYGO}",
    ),
    FaultKind.EXPORT_INITIALIZE: _remedy(
        "the host calls `_initialize` once before anything else, with nothing: let it take and return "
        "nothing, or give yours another name"
    ),
    FaultKind.EXPORT_NAME: _remedy("export it under the name of the contract, letter by letter"),
    FaultKind.MEMORY_NOT_EXPORTED: _remedy(
        c="take out -Wl,--import-memory and -Wl,--no-export-memory",
        rust="take --import-memory out of the link arguments",
        zig="add --export-memory",
        assemblyscript="take out --noExportMemory",
        go=_TINYGO,
    ),
    FaultKind.SIMD: _remedy(
        "build without -msimd128 (C) or +simd128 (Rust)",
        c="-mno-simd128, and no -msimd128",
        rust="-C target-feature=-simd128",
        zig="-mcpu=generic-simd128",
        assemblyscript="take out --enable simd",
    ),
    FaultKind.RELAXED_SIMD: _remedy(
        "build without +relaxed-simd",
        c="-mno-relaxed-simd",
        rust="-C target-feature=-relaxed-simd",
        zig="-mcpu=generic-relaxed_simd",
        assemblyscript="take out --enable relaxed-simd",
    ),
    FaultKind.THREADS: _remedy(
        "build without threads (-pthread, --shared-memory, +atomics)",
        c="take out -pthread, -matomics and -Wl,--shared-memory",
        rust="take +atomics out of -C target-feature",
        zig="take +atomics out of -mcpu, and add -fsingle-threaded",
        assemblyscript="take out --sharedMemory and --enable threads",
    ),
    FaultKind.EXCEPTIONS: _remedy(
        "build with -fno-exceptions or panic=abort",
        c="-fno-exceptions",
        rust='panic = "abort" in [profile.release]',
        assemblyscript="take out --enable exception-handling",
    ),
    FaultKind.TAIL_CALLS: _remedy(
        "build without +tail-call",
        c="-mno-tail-call",
        rust="-C target-feature=-tail-call",
        zig="-mcpu=generic-tail_call",
    ),
    FaultKind.MEMORY64: _remedy(
        "compile for wasm32, without memory64",
        c="-target wasm32-freestanding, instead of wasm64",
        rust="--target wasm32-unknown-unknown, instead of wasm64",
        zig="-target wasm32-freestanding, instead of wasm64",
    ),
    FaultKind.MULTI_MEMORY: _remedy(
        "build without multi-memory",
        c="take out -mmultimemory",
        rust="take +multimemory out of -C target-feature",
    ),
    FaultKind.PAGE_SIZE: _remedy("build without custom-page-sizes"),
    FaultKind.WIDE_ARITHMETIC: _remedy("build without +wide-arithmetic"),
    FaultKind.OTHER_PROPOSAL: _remedy("compile for plain wasm32, without proposals"),
    FaultKind.ABI_VERSION: _remedy(
        "update the host, or take the copy of the SDK that came with it: `cuttlebone block new` "
        "makes one"
    ),
    FaultKind.SIGNATURE: _remedy(
        "text, number, bool, bytes, image, document, json, [T] and {name: T} are all the types"
    ),
    FaultKind.UNTYPED: _remedy(
        'export cf_signature, which returns {"input": "<type>", "output": "<type>"}',
        c='CF_SIGNATURE("{path: text}", "{title: text}")',
        rust='cuttlebone::export!(YourBlock, input = "{path: text}", output = "{title: text}")',
    ),
    FaultKind.CONSTRUCTORS: _remedy(
        'include the cuttlebone.h of this version, or add: extern "C" void __wasm_call_ctors(void); '
        'extern "C" __attribute__((export_name("_initialize"))) void initialize(void) '
        "{ __wasm_call_ctors(); }"
    ),
    FaultKind.START: _remedy(
        "do the work of constructors and static initialisers in cf_init, where a job pays for it"
    ),
    FaultKind.PROGRAM: _remedy(
        c="-Wl,--no-entry, and no `main`",
        rust='crate-type = ["cdylib"], and src/lib.rs instead of src/main.rs',
        zig="-fno-entry, and no `pub fn main`",
        assemblyscript="take out --exportStart",
        go=f"{_TINYGO} -buildmode=c-shared",
    ),
    FaultKind.INITIAL_MEMORY: _remedy(
        c=f"{_SMALL_STACK[0]}, and less static data",
        rust=f"{_SMALL_STACK[1]}, and less static data",
        zig=f"{_SMALL_STACK[2]}, and less static data",
        assemblyscript="take out --initialMemory",
        go=f"{_TINYGO}, which begins with less",
    ),
    FaultKind.STACK: _remedy(
        c=_SMALL_STACK[0],
        rust=_SMALL_STACK[1],
        zig=_SMALL_STACK[2],
        assemblyscript="less static data",
        go=f"{_TINYGO}, which begins with less",
    ),
    FaultKind.DEBUG: _remedy(
        c="take out -g, or add -Wl,--strip-debug",
        rust='strip = "debuginfo" in [profile.release]',
        zig="-O ReleaseSmall, which strips",
        assemblyscript="take out --debug and --sourceMap",
        go=f"{_TINYGO} -no-debug",
    ),
    FaultKind.CODE: _remedy(
        c="-Oz",
        rust='opt-level = "z", lto = true, codegen-units = 1, panic = "abort"',
        zig="-O ReleaseSmall",
        assemblyscript="-Oz --converge --noAssert",
        go=f"{_TINYGO} -opt=z",
    ),
    FaultKind.TRAP: _remedy("read each field with a default or a check, instead of unwrapping it"),
    FaultKind.LIMIT: _remedy("let it use less, or raise the limit in the spec"),
    FaultKind.ENDLESS: _remedy(
        "return a command soon: a long computation goes step by step, with `emit` in between"
    ),
    FaultKind.ALLOCATOR: _remedy(
        "let cf_alloc return memory of that length, which it may use again at the next call; "
        "grow the memory if there is none"
    ),
    FaultKind.DESCRIPTOR: _remedy(
        "return the address of eight bytes that hold address and length of the payload, and "
        "keep both until the next call; the SDKs do this"
    ),
    FaultKind.COMMAND: _remedy(
        "build commands with the functions of an SDK; docs/abi.md has their fields"
    ),
    FaultKind.HOST: _remedy("this is no fault of the block: see the log, and report it"),
}


def advised(kind: FaultKind, message: str, *, name: str = "") -> Fault:
    """A fault with what helps against it whatever built the module."""
    return Fault(kind, name, message, _REMEDIES[kind].whatever)


def remedies(kind: FaultKind, toolchain: Toolchain) -> tuple[str, ...]:
    """What helps with that toolchain: its own flag, else what helps with any.

    Each one's flag where neither is known.
    """
    remedy = _REMEDIES[kind]
    if toolchain in remedy.flags:
        return (f"{toolchain}: {remedy.flags[toolchain]}",)
    if remedy.whatever:
        return (remedy.whatever,)
    if toolchain is not Toolchain.UNKNOWN:
        return ()
    return tuple(f"{name}: {flag}" for name, flag in remedy.flags.items())
