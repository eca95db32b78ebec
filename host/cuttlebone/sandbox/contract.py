"""Whether a module keeps the ABI: no imports, the exports it needs, of the types they need.

Every fault is named at once, each with what to change in the build, so that an author needs one
attempt and not one for each fault.
"""

from typing import Final

from cuttlebone.errors import Fault, FaultKind
from cuttlebone.sandbox.remedies import advised
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

IMPORTS_NAMED_MAX: Final = 64

_IMPORT_KINDS: Final = {
    ("env", "abort"): FaultKind.IMPORT_ASSEMBLYSCRIPT,
    ("env", "seed"): FaultKind.IMPORT_ASSEMBLYSCRIPT,
    ("env", "trace"): FaultKind.IMPORT_ASSEMBLYSCRIPT,
    ("env", "Date.now"): FaultKind.IMPORT_CLOCK,
    ("env", "performance.now"): FaultKind.IMPORT_CLOCK,
    ("wasi_snapshot_preview1", "*"): FaultKind.IMPORT_WASI,
    ("wasi_unstable", "*"): FaultKind.IMPORT_WASI,
    ("__wbindgen_placeholder__", "*"): FaultKind.IMPORT_BINDGEN,
    ("__wbindgen_externref_xform__", "*"): FaultKind.IMPORT_BINDGEN,
    ("wbg", "*"): FaultKind.IMPORT_BINDGEN,
    ("go", "*"): FaultKind.IMPORT_GO,
    ("gojs", "*"): FaultKind.IMPORT_GO,
}
"""What makes an import of a module and name; `*` is every other name of that module."""


def contract_faults(shape: ModuleShape) -> list[Fault]:
    """Everything in which the module breaks the ABI: imports first, which are most often the reason."""
    faults = [_import_fault(item) for item in shape.imports[:IMPORTS_NAMED_MAX]]
    if more := shape.imports[IMPORTS_NAMED_MAX:]:
        faults.append(Fault(_import_kind(more[0]), "", f"imports {len(more)} more things"))
    faults.extend(shape.faults)
    for memory in shape.memories:
        faults.extend(_memory_faults(memory))
    if shape.whole:
        faults.extend(_export_faults(shape))
    return faults


def _import_fault(item: Import) -> Fault:
    name = f"{item.module}.{item.name}"
    message = f"imports the {item.kind} `{printable(name)}`, but a block has no imports"
    return advised(_import_kind(item), message, name=name)


def _import_kind(item: Import) -> FaultKind:
    match item.kind:
        case "memory":
            return FaultKind.IMPORT_MEMORY
        case "table":
            return FaultKind.IMPORT_TABLE
        case _:
            if item.module == "env" and item.name.startswith("console."):
                return FaultKind.IMPORT_CONSOLE
            exact = _IMPORT_KINDS.get((item.module, item.name))
            return exact or _IMPORT_KINDS.get((item.module, "*"), FaultKind.IMPORT)


def _memory_faults(memory: MemoryShape) -> list[Fault]:
    faults = []
    if memory.wide:
        faults.append(advised(FaultKind.MEMORY64, "its memory is 64-bit"))
    if memory.shared:
        faults.append(advised(FaultKind.THREADS, "its memory is shared"))
    if memory.custom_page:
        faults.append(advised(FaultKind.PAGE_SIZE, "its memory has its own page size"))
    return faults


def _export_faults(shape: ModuleShape) -> list[Fault]:
    faults = []
    for name, wanted in (REQUIRED | OPTIONAL).items():
        found = shape.exports.get(name)
        if found is None and name in REQUIRED:
            is_memory = name == "memory"
            kind = FaultKind.MEMORY_NOT_EXPORTED if is_memory else FaultKind.EXPORT_MISSING
            message = f"does not export `{name}`, which must be {wanted}"
            faults.append(advised(kind, message, name=name))
        elif found is not None and found != wanted:
            message = f"exports `{name}` as {found}, but it must be {wanted}"
            own = name == "_initialize"
            kind = FaultKind.EXPORT_INITIALIZE if own else FaultKind.EXPORT_TYPE
            faults.append(advised(kind, message, name=name))
    return faults
