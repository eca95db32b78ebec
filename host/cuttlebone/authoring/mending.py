"""Which flag mends which fault, for each toolchain: what `block check` says beside a fault."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cuttlebone.authoring.anatomy import Toolchain

_C, _RUST, _ZIG, _AS, _GO = (
    Toolchain.C,
    Toolchain.RUST,
    Toolchain.ZIG,
    Toolchain.ASSEMBLYSCRIPT,
    Toolchain.GO,
)
_TINYGO: Final = "TinyGo with -target=wasm-unknown"


@dataclass(frozen=True, slots=True)
class _Mending:
    """What mends the faults that `pattern` is found in."""

    pattern: re.Pattern[str]
    flags: Mapping[Toolchain, str]
    anyhow: str = ""
    """What mends it with every toolchain, where no flag does."""


def _mending(
    pattern: str, flags: Mapping[Toolchain, str] | None = None, *, anyhow: str = ""
) -> _Mending:
    return _Mending(re.compile(pattern), flags or {}, anyhow)


# The first that fits is taken.
_MENDINGS: Final = (
    _mending(
        r"did you mean",
        anyhow="export it under the name of the contract, letter by letter",
    ),
    _mending(
        r"ABI version",
        anyhow="take the copy of the SDK that came with this host: `cuttlebone block new` makes one",
    ),
    _mending(
        r"cf_signature is wrong",
        anyhow="text, number, bool, bytes, image, document, json, [T] and {name: T} are all the types",
    ),
    _mending(
        r"declares no types",
        {
            _C: 'CF_SIGNATURE("{path: text}", "{title: text}")',
            _RUST: 'cuttlebone::export!(YourBlock, input = "{path: text}", output = "{title: text}")',
        },
        anyhow='export cf_signature, which returns {"input": "<type>", "output": "<type>"}',
    ),
    _mending(
        r"start function|instantiation|_initialize",
        anyhow="do the work of constructors and static initialisers in cf_init, where a job pays for it",
    ),
    _mending(
        r"cf_init does not return",
        anyhow="return a command soon: a long computation goes step by step, with `emit` in between",
    ),
    _mending(
        r"is no command",
        anyhow="build commands with the functions of an SDK; docs/abi.md has their fields",
    ),
    _mending(
        r"descriptor",
        anyhow="return the address of eight bytes that hold address and length of the payload, and "
        "keep both until the next call; the SDKs do this",
    ),
    _mending(
        r"cf_alloc returned",
        anyhow="let cf_alloc return memory of that length, which it may use again at the next call; "
        "grow the memory if there is none",
    ),
    _mending(
        r"an input that it cannot take",
        anyhow="read each field with a default or a check, instead of unwrapping it",
    ),
    _mending(
        r"of memory to start",
        {
            _C: "-Wl,-z,stack-size=65536, and less static data",
            _RUST: "-C link-arg=-zstack-size=65536, and less static data",
            _ZIG: "--stack 65536, and less static data",
            _AS: "take out --initialMemory",
        },
    ),
    _mending(
        r"imports the memory|imports the table",
        {
            _C: "take out -Wl,--import-memory and -Wl,--import-table",
            _RUST: "take -C link-arg=--import-memory and --import-table out of RUSTFLAGS and "
            ".cargo/config.toml",
            _ZIG: "take out --import-memory and --import-table",
            _AS: "take out --importMemory and --importTable",
        },
    ),
    _mending(
        r"imports the function `env\.(abort|seed|trace)`",
        {_AS: "add --use abort= (and --use seed=, --use trace=), or `use` in asconfig.json"},
    ),
    _mending(
        r"imports the \w+ `wasi",
        {
            _C: "-target wasm32-freestanding -Wl,--no-entry, instead of wasm32-wasi",
            _RUST: "cargo build --target wasm32-unknown-unknown, instead of wasm32-wasip1",
            _ZIG: "-target wasm32-freestanding -fno-entry, instead of wasm32-wasi",
            _AS: "take @assemblyscript/wasi-shim out of asconfig.json",
            _GO: _TINYGO,
        },
    ),
    _mending(
        r"imports the \w+ `(wbg|__wbindgen)",
        {_RUST: "take out the dependency that brings wasm-bindgen: cargo tree -i wasm-bindgen"},
    ),
    _mending(r"imports the \w+ `go", {_GO: _TINYGO}),
    _mending(
        r"imports the function",
        {
            _C: "define the function, or stop calling it; take out -Wl,--allow-undefined",
            _RUST: 'take out the `extern "C"` block that declares it',
            _ZIG: "take out the `extern fn` that declares it",
            _AS: "take out the `declare function` or @external that declares it",
        },
    ),
    _mending(
        r"does not export `memory`",
        {
            _C: "take out -Wl,--import-memory and -Wl,--no-export-memory",
            _RUST: "take --import-memory out of the link arguments",
            _ZIG: "add --export-memory",
            _AS: "take out --noExportMemory",
        },
    ),
    _mending(
        r"does not export `cf_",
        {
            _C: '#include "cuttlebone.h" and end with CF_BLOCK(start, step); own exports need '
            '__attribute__((export_name("cf_step")))',
            _RUST: 'crate-type = ["cdylib"] in Cargo.toml, and cuttlebone::export!(YourBlock)',
            _ZIG: "add -rdynamic, and declare the functions with `export fn`",
            _AS: "`export function` (or `export *`) in the entry file, assembly/index.ts",
        },
    ),
    _mending(
        r"exports `cf_",
        {
            _C: "-target wasm32-freestanding, and size_t or uint32_t for pointers and lengths",
            _RUST: 'pub extern "C" fn with u32 or usize for pointers and lengths, for wasm32',
            _ZIG: "export fn with u32 or usize for pointers and lengths, for wasm32",
            _AS: "usize or u32 for pointers and lengths, i32 for the rest; no f64, no i64",
        },
    ),
    _mending(
        r"64-bit|memory64",
        {
            _C: "-target wasm32-freestanding, instead of wasm64",
            _RUST: "--target wasm32-unknown-unknown, instead of wasm64",
            _ZIG: "-target wasm32-freestanding, instead of wasm64",
        },
    ),
    _mending(
        r"shared|atomics",
        {
            _C: "take out -pthread, -matomics and -Wl,--shared-memory",
            _RUST: "take +atomics out of -C target-feature",
            _ZIG: "take +atomics out of -mcpu, and add -fsingle-threaded",
            _AS: "take out --sharedMemory and --enable threads",
        },
    ),
    _mending(
        r"SIMD",
        {
            _C: "-mno-simd128, and no -msimd128",
            _RUST: "-C target-feature=-simd128",
            _ZIG: "-mcpu=generic-simd128",
            _AS: "take out --enable simd",
        },
    ),
    _mending(
        r"exceptions",
        {
            _C: "-fno-exceptions",
            _RUST: 'panic = "abort" in [profile.release]',
            _AS: "take out --enable exception-handling",
        },
    ),
    _mending(
        r"tail calls",
        {
            _C: "-mno-tail-call",
            _RUST: "-C target-feature=-tail-call",
            _ZIG: "-mcpu=generic-tail_call",
        },
    ),
    _mending(
        r"memories",
        {_C: "take out -mmultimemory", _RUST: "take +multimemory out of -C target-feature"},
    ),
    _mending(
        r"debug information",
        {
            _C: "take out -g, or add -Wl,--strip-debug",
            _RUST: 'strip = "debuginfo" in [profile.release]',
            _ZIG: "-O ReleaseSmall, which strips",
            _AS: "take out --debug and --sourceMap",
        },
    ),
    _mending(
        r"stack",
        {
            _C: "-Wl,-z,stack-size=65536",
            _RUST: "-C link-arg=-zstack-size=65536",
            _ZIG: "--stack 65536",
        },
    ),
    _mending(
        r"large",
        {
            _C: "-Oz",
            _RUST: 'opt-level = "z", lto = true, codegen-units = 1, panic = "abort"',
            _ZIG: "-O ReleaseSmall",
            _AS: "-Oz --converge --noAssert",
        },
    ),
    _mending(
        r"main function|`_start`",
        {
            _C: "-Wl,--no-entry, and no `main`",
            _RUST: 'crate-type = ["cdylib"], and src/lib.rs instead of src/main.rs',
            _ZIG: "-fno-entry, and no `pub fn main`",
            _AS: "take out --exportStart",
            _GO: "TinyGo with -target=wasm-unknown -buildmode=c-shared",
        },
    ),
)


def mendings_of(fault: str, toolchain: Toolchain) -> tuple[str, ...]:
    """What mends a fault with its toolchain, or with each one where that is not known.

    None for a fault that is too special to have a remedy here.
    """
    found = next((each for each in _MENDINGS if each.pattern.search(fault)), None)
    if found is None:
        return ()
    if toolchain in found.flags:
        return (f"{toolchain}: {found.flags[toolchain]}",)
    if found.anyhow:
        return (found.anyhow,)
    return tuple(f"{name}: {flag}" for name, flag in found.flags.items())
