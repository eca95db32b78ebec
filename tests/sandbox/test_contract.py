"""Faults against the contract are values: their kind comes from the module, not from a wording."""

import pytest
import wasmtime

from cuttlebone.errors import FaultKind
from cuttlebone.sandbox.contract import IMPORTS_NAMED_MAX, contract_faults
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


def test_imports_come_first_and_the_other_reasons_with_them() -> None:
    found = kinds('(import "env" "abort" (func)) (memory 1)' + "(table 1 funcref)" * 5)

    assert found[0] == (FaultKind.IMPORT_ASSEMBLYSCRIPT, "env.abort")
    assert found[1] == (FaultKind.SIZE, "")
    assert (FaultKind.EXPORT_MISSING, "cf_init") in found


def test_of_many_imports_64_are_named_and_the_others_counted() -> None:
    imports = "".join(f'(import "env" "f{number}" (func))' for number in range(70))
    shape = read_shape(bytes(wasmtime.wat2wasm(f"(module {imports})")))

    told = [fault.message for fault in contract_faults(shape) if "import" in fault.message]
    assert len(told) == IMPORTS_NAMED_MAX + 1
    assert told[-1] == "imports 6 more things"


def test_a_module_that_was_cut_is_not_told_what_it_lacks() -> None:
    wasm = bytes(wasmtime.wat2wasm('(module (import "env" "abort" (func)) (memory 1))'))

    assert [fault.kind for fault in contract_faults(read_shape(wasm[:-2]))] == [
        FaultKind.IMPORT_ASSEMBLYSCRIPT,
        FaultKind.MALFORMED,
    ]
