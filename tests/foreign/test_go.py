"""What the Go compiler makes for WASI is refused with its real reason, which is not its size."""

import os
import shutil
import subprocess

import pytest

from cuttlebone.errors import FaultKind
from cuttlebone.sandbox.contract import contract_faults
from cuttlebone.sandbox.remedies import Toolchain, remedies
from cuttlebone.sandbox.scan import read_shape

PROGRAM = """package main

//go:wasmexport cf_alloc
func cfAlloc(length uint32) uint32 { return 0 }

func main() {}
"""


@pytest.fixture(scope="module")
def go_wasm(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if shutil.which("go") is None:
        pytest.skip("no Go: https://go.dev/doc/install")
    folder = tmp_path_factory.mktemp("go")
    (folder / "go.mod").write_text("module block\n\ngo 1.24\n")
    (folder / "main.go").write_text(PROGRAM)
    wanted = {"GOOS": "wasip1", "GOARCH": "wasm", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        ["go", "build", "-buildmode=c-shared", "-o", "block.wasm", "."],
        cwd=folder,
        env={**os.environ, **wanted},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"this Go makes no reactor for WASI: {done.stderr.strip()[-200:]}")
    return (folder / "block.wasm").read_bytes()


def test_its_imports_are_the_reason_and_come_first(go_wasm: bytes) -> None:
    faults = contract_faults(read_shape(go_wasm))
    kinds = [fault.kind for fault in faults]

    imports = kinds.count(FaultKind.IMPORT_WASI)
    assert imports >= 5
    assert kinds[:imports] == [FaultKind.IMPORT_WASI] * imports
    assert set(kinds[imports:]) == {FaultKind.EXPORT_MISSING}
    assert remedies(kinds[0], Toolchain.GO) == ("Go: TinyGo with -target=wasm-unknown",)
