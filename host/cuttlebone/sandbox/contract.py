"""Whether a module keeps the ABI: no imports, the exports it needs, of the types they need.

Every fault is named at once, each with what to change in the build, so that an author needs one
attempt and not one for each fault.
"""

from typing import Final

from cuttlebone.sandbox.shape import Import, MemoryShape, ModuleShape
from cuttlebone.text import printable

_PAYLOAD_CALL: Final = "(i32, i32) -> i32"

REQUIRED: Final = {
    "memory": "memory",
    "cf_alloc": "(i32) -> i32",
    "cf_init": _PAYLOAD_CALL,
    "cf_step": _PAYLOAD_CALL,
}
OPTIONAL: Final = {
    "cf_on_token": _PAYLOAD_CALL,
    "cf_signature": "() -> i32",
    "cf_abi_version": "() -> i32",
    "cf_panic": "() -> i32",
    "_initialize": "() -> ()",
}

_NO_SYSTEM: Final = (
    "a guest has no operating system: compile for wasm32-unknown-unknown (Rust) or "
    "wasm32-freestanding (C, Zig), without a main function"
)
_NO_BINDGEN: Final = (
    "build without wasm-bindgen (a dependency may switch it on: `cargo tree -i wasm-bindgen`)"
)
_TINYGO: Final = "compile with TinyGo, -target=wasm-unknown"
_REMEDIES: Final = {
    ("env", "abort"): "AssemblyScript: compile with --use abort=",
    ("env", "seed"): "AssemblyScript: compile with --use seed=, or do without Math.random",
    ("env", "trace"): "AssemblyScript: compile with --use trace=, or do without trace()",
    ("env", "*"): (
        "the linker left it undefined: define it or remove its use, and link without "
        "--allow-undefined"
    ),
    ("wasi_snapshot_preview1", "*"): _NO_SYSTEM,
    ("wasi_unstable", "*"): _NO_SYSTEM,
    ("__wbindgen_placeholder__", "*"): _NO_BINDGEN,
    ("__wbindgen_externref_xform__", "*"): _NO_BINDGEN,
    ("wbg", "*"): _NO_BINDGEN,
    ("go", "*"): _TINYGO,
    ("gojs", "*"): _TINYGO,
}
"""What to change for an import of a module and name; `*` is every other name of that module."""


def contract_faults(shape: ModuleShape) -> list[str]:
    """Everything in which the module breaks the ABI, in the order imports, memories, exports."""
    faults = [_import_fault(item) for item in shape.imports]
    for memory in shape.memories:
        faults.extend(_memory_faults(memory))
    faults.extend(_export_faults(shape))
    return faults


def _import_fault(item: Import) -> str:
    name = printable(f"{item.module}.{item.name}")
    return f"imports the {item.kind} `{name}`, but a block has no imports: {_remedy(item)}"


def _remedy(item: Import) -> str:
    if item.kind == "memory":
        return "do not build with threads or --import-memory (AssemblyScript: --importMemory)"
    if item.kind == "table":
        return "link without --import-table"
    if found := _REMEDIES.get((item.module, item.name)) or _REMEDIES.get((item.module, "*")):
        return found
    return "remove whatever declares it"


def _memory_faults(memory: MemoryShape) -> list[str]:
    faults = []
    if memory.wide:
        faults.append("its memory is 64-bit; compile for wasm32, without memory64")
    if memory.shared:
        faults.append(
            "its memory is shared; build without threads (-pthread, --shared-memory, +atomics)"
        )
    if memory.custom_page:
        faults.append("its memory has its own page size; build without custom-page-sizes")
    return faults


def _export_faults(shape: ModuleShape) -> list[str]:
    faults = []
    for name, wanted in (REQUIRED | OPTIONAL).items():
        found = shape.exports.get(name)
        if found is None and name in REQUIRED:
            faults.append(f"does not export `{name}`, which must be {wanted}")
        elif found is not None and found != wanted:
            faults.append(f"exports `{name}` as {found}, but it must be {wanted}")
    return faults
