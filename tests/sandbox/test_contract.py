"""Faults against the contract are values: their kind comes from the module, not from a wording."""

import pytest
import wasmtime

from cuttlebone.errors import FaultKind
from cuttlebone.sandbox.contract import contract_faults
from cuttlebone.sandbox.scan import read_shape


def kinds(module: str) -> list[tuple[FaultKind, str]]:
    shape = read_shape(bytes(wasmtime.wat2wasm(f"(module {module})")))
    return [(fault.kind, fault.name) for fault in contract_faults(shape)]


@pytest.mark.parametrize(
    ("imported", "kind"),
    [
        ('"env" "abort" (func)', FaultKind.IMPORT_ASSEMBLYSCRIPT),
        ('"env" "fd_descriptor" (func)', FaultKind.IMPORT),
        ('"env" "cf_alloc returned, shared SIMD stack" (func)', FaultKind.IMPORT),
        ('"wasi_snapshot_preview1" "fd_write" (func)', FaultKind.IMPORT_WASI),
        ('"wasi_snapshot_preview2" "fd_write" (func)', FaultKind.IMPORT),
        ('"wbg" "throw" (func)', FaultKind.IMPORT_BINDGEN),
        ('"gojs" "runtime.ticks" (func)', FaultKind.IMPORT_GO),
        ('"env" "memory" (memory 1)', FaultKind.IMPORT_MEMORY),
        ('"env" "abort" (table 1 funcref)', FaultKind.IMPORT_TABLE),
        ('"else" "where" (global i32)', FaultKind.IMPORT),
    ],
)
def test_an_import_is_a_fault_of_its_kind_whatever_its_name_says(
    imported: str, kind: FaultKind
) -> None:
    module, name = imported.split('"')[1::2]
    assert kinds(f"(import {imported})")[0] == (kind, f"{module}.{name}")


def test_missing_and_mistyped_exports_have_the_name_of_the_export() -> None:
    assert kinds('(func (export "cf_step")) (memory (export "memory") i64 1)') == [
        (FaultKind.MEMORY64, ""),
        (FaultKind.EXPORT_MISSING, "cf_alloc"),
        (FaultKind.EXPORT_MISSING, "cf_init"),
        (FaultKind.EXPORT_TYPE, "cf_step"),
    ]
    assert (FaultKind.MEMORY_NOT_EXPORTED, "memory") in kinds("")
