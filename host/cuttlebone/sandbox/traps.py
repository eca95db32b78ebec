"""What stopped a guest, in words for its author, and the error code that it means."""

from typing import Final

import wasmtime
from wasmtime import TrapCode

from cuttlebone.errors import FaultKind, Interrupted, JobError
from cuttlebone.sandbox.guest import GuestLimits
from cuttlebone.sandbox.shape import WASM_PAGE_BYTES
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

_MEANINGS: Final = {
    TrapCode.UNREACHABLE: (
        "it executed `unreachable`: a panic, a failed assertion or an abort in the guest"
    ),
    TrapCode.MEMORY_OUT_OF_BOUNDS: "it accessed memory outside its bounds",
    TrapCode.TABLE_OUT_OF_BOUNDS: "it called or read past the end of a table",
    TrapCode.INDIRECT_CALL_TO_NULL: "it called a null function pointer",
    TrapCode.BAD_SIGNATURE: "it called a function pointer as another type than it has",
    TrapCode.INTEGER_OVERFLOW: "an integer division or conversion overflowed",
    TrapCode.INTEGER_DIVISION_BY_ZERO: "it divided an integer by zero",
    TrapCode.BAD_CONVERSION_TO_INTEGER: "it converted a NaN to an integer",
    TrapCode.HEAP_MISALIGNED: "an atomic access was not aligned",
    TrapCode.NULL_REFERENCE: "it used a null reference",
}
_FRAMES_MAX: Final = 3


def job_error(
    error: wasmtime.Trap | wasmtime.WasmtimeError, during: str, limits: GuestLimits, memory: int
) -> Exception:
    """The JobError or Interrupted that says why the guest stopped `during` a call.

    `memory` is the size of the linear memory in bytes when it stopped: wasm tells a guest alone
    that its memory may not grow, so a panic at the brim is reported as the limit that it is.
    """
    if not isinstance(error, wasmtime.Trap):
        return _instantiation_error(error, during, limits)
    match error.trap_code:
        case TrapCode.INTERRUPT:
            return Interrupted(during)
        case TrapCode.OUT_OF_FUEL:
            return exceeded("fuel", f"{limits.fuel} operations are spent, in {during}")
        case TrapCode.STACK_OVERFLOW:
            what = (
                f"{limits.stack_bytes} are used up in {during}{_where(error)}: endless recursion?"
            )
            return exceeded("stack_bytes", what)
        case TrapCode.UNREACHABLE if memory + WASM_PAGE_BYTES > limits.memory_bytes:
            what = f"{limits.memory_bytes} are used up, and the guest gave up in {during}{_where(error)}"
            return exceeded("memory_bytes", what, fault=FaultKind.TRAP)
        case code:
            meaning = _MEANINGS.get(code) if code is not None else None
            text = meaning or printable(error.message.splitlines()[-1])
            message = f"the guest trapped in {during}{_where(error)}: {text}"
            if code is TrapCode.UNREACHABLE:
                message += f" (it had {memory} of {limits.memory_bytes} bytes of memory)"
            return JobError(ErrorCode.WASM_TRAP, message, fault=FaultKind.TRAP)


def exceeded(
    limit: str, what: str, *, stated: bool = True, fault: FaultKind = FaultKind.LIMIT
) -> JobError:
    """The end of a job that went over `limit`; `stated` if a spec can raise it."""
    remedy = f"; raise `limits.{limit}` in the spec if the block needs more" if stated else ""
    return JobError(ErrorCode.LIMIT_EXCEEDED, f"{limit}: {what}{remedy}", fault=fault)


def _instantiation_error(
    error: wasmtime.WasmtimeError, during: str, limits: GuestLimits
) -> JobError:
    text = printable(" ".join(str(error).split()))
    if "memory minimum size" in text:
        return exceeded(
            "memory_bytes", f"{limits.memory_bytes} are less than the module's smallest memory"
        )
    message = f"the guest could not be run, in {during}: {text}"
    return JobError(ErrorCode.WASM_TRAP, message, fault=FaultKind.START)


def _where(trap: wasmtime.Trap) -> str:
    """Names of the innermost functions, if the module kept them."""
    names = [frame.func_name or f"#{frame.func_index}" for frame in trap.frames[:_FRAMES_MAX]]
    return f" at {printable(' < '.join(names))}" if names else ""
