"""Every kind of fault has a remedy with every toolchain, and a remedy never depends on a wording."""

import pytest

from cuttlebone.errors import FaultKind
from cuttlebone.sandbox.remedies import Toolchain, advised, remedies


@pytest.mark.parametrize("toolchain", Toolchain)
@pytest.mark.parametrize("kind", FaultKind)
def test_every_fault_has_a_remedy(kind: FaultKind, toolchain: Toolchain) -> None:
    told = remedies(kind, toolchain)
    assert told
    assert all(remedy and remedy.isprintable() for remedy in told)


def test_a_toolchain_is_told_its_own_flag() -> None:
    assert remedies(FaultKind.SIMD, Toolchain.ZIG) == ("Zig: -mcpu=generic-simd128",)


def test_an_unknown_toolchain_is_told_what_helps_with_any() -> None:
    assert remedies(FaultKind.SIMD, Toolchain.UNKNOWN) == (
        "build without -msimd128 (C) or +simd128 (Rust)",
    )


def test_an_unknown_toolchain_is_told_every_flag_where_nothing_helps_with_any() -> None:
    told = remedies(FaultKind.STACK, Toolchain.UNKNOWN)
    assert [line.partition(": ")[0] for line in told] == [
        "C",
        "Rust",
        "Zig",
        "AssemblyScript",
        "Go",
    ]


def test_a_fault_as_text_says_what_is_wrong_and_what_to_do() -> None:
    fault = advised(FaultKind.TEXT, "this is text", name="x")
    assert (fault.kind, fault.name, fault.message) == (FaultKind.TEXT, "x", "this is text")
    assert str(fault) == "this is text; turn it into a binary first, for instance with wat2wasm"
    assert str(advised(FaultKind.EXPORT_TYPE, "wrong")) == "wrong"
