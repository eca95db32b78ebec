"""What wasmtime refuses becomes a fault of its kind, whatever names the module has chosen."""

import pytest
import wasmtime

from cuttlebone.errors import BlockRefused, FaultKind
from cuttlebone.sandbox.compiling import compile_module

VECTOR = "(v128.const i32x4 0 0 0 0)"


def refused(module: str) -> FaultKind:
    with pytest.raises(BlockRefused) as caught:
        compile_module(bytes(wasmtime.wat2wasm(f"(module {module})")), metered=False)
    (fault,) = caught.value.faults
    return fault.kind


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (f"(func (drop {VECTOR}))", FaultKind.SIMD),
        ("(func (drop (i32x4.relaxed_trunc_f32x4_s (unreachable))))", FaultKind.RELAXED_SIMD),
        ("(memory 1) (func (drop (i32.atomic.load (i32.const 0))))", FaultKind.THREADS),
        ("(memory 1 1 shared)", FaultKind.THREADS),
        ("(tag)", FaultKind.EXCEPTIONS),
        ("(func (throw 0))", FaultKind.EXCEPTIONS),
        ("(func $t (return_call $t))", FaultKind.TAIL_CALLS),
        ("(memory i64 1)", FaultKind.MEMORY64),
        ("(table i64 1 funcref)", FaultKind.MEMORY64),
        ("(memory 1) (memory 1)", FaultKind.MULTI_MEMORY),
        (
            "(func (drop (i64.mul_wide_s (i64.const 0) (i64.const 0))) (drop))",
            FaultKind.WIDE_ARITHMETIC,
        ),
        ("(type (struct))", FaultKind.OTHER_PROPOSAL),
        ("(rec (type (func)))", FaultKind.OTHER_PROPOSAL),
        ("(func (param anyref))", FaultKind.OTHER_PROPOSAL),
        ("(func (drop (ref.i31 (i32.const 1))))", FaultKind.OTHER_PROPOSAL),
        ("(type $t (func)) (func (param (ref $t)))", FaultKind.OTHER_PROPOSAL),
    ],
)
def test_a_feature_that_is_off_is_a_fault_of_its_own_kind(module: str, kind: FaultKind) -> None:
    assert refused(module) is kind


@pytest.mark.parametrize("name", ["gc", "exceptions", "SIMD support is not enabled", "memory64"])
def test_a_name_that_sounds_like_a_feature_does_not_change_the_kind(name: str) -> None:
    assert refused(f'(func (export "{name}")) (func (export "{name}"))') is FaultKind.INVALID
