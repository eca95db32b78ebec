"""What host and guest program send each other beside the guest's own payloads, packed and unpacked.

The host unpacks what a guest process says as it would a stranger's words: `BrokenFrame` is the answer
to whatever no guest program of ours would say.
"""

from struct import Struct
from typing import Final

from cuttlebone.errors import FaultKind, JobError
from cuttlebone.locked_process.frames import BrokenFrame, Counters
from cuttlebone.sandbox.description import Description
from cuttlebone.sandbox.guest import GuestAccounting, GuestLimits
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

MESSAGE_CHARS_MAX: Final = 4096
# Fixed, as JSON would cost each guest process the pages of its parser: 0.15 MiB.
_LIMITS: Final = Struct("<5Q")
_DESCRIPTION: Final = Struct("<q?")
_CODES: Final = (ErrorCode.WASM_TRAP, ErrorCode.LIMIT_EXCEEDED)
"""What wasm can end in by itself."""


def pack_limits(limits: GuestLimits) -> bytes:
    """Arguments of the guest program."""
    fuel = limits.fuel or 0
    return _LIMITS.pack(
        limits.memory_bytes, limits.command_bytes, limits.stack_bytes, limits.cpu_s, fuel
    )


def unpack_limits(arguments: bytes) -> GuestLimits:
    """Inverse of `pack_limits`, for arguments of our own host."""
    memory_bytes, command_bytes, stack_bytes, cpu_s, fuel = _LIMITS.unpack(arguments)
    return GuestLimits(
        memory_bytes=memory_bytes,
        command_bytes=command_bytes,
        stack_bytes=stack_bytes,
        cpu_s=cpu_s,
        fuel=fuel or None,
    )


def pack_description(description: Description) -> bytes:
    """Payload of the reply to DESCRIBE."""
    version = -1 if description.abi_version is None else description.abi_version
    signature = description.signature
    return _DESCRIPTION.pack(version, signature is not None) + (signature or b"")


def unpack_description(payload: bytes) -> Description:
    """Inverse of `pack_description`; raise BrokenFrame."""
    if len(payload) < _DESCRIPTION.size:
        raise BrokenFrame(f"a description of {len(payload)} bytes")
    version, signed = _DESCRIPTION.unpack_from(payload)
    signature = payload[_DESCRIPTION.size :] if signed else None
    return Description(None if version < 0 else version, signature)


def pack_job_error(error: JobError) -> bytes:
    """Payload of a reply that says why the guest cannot go on."""
    message = error.message.replace("\n", " ")
    return f"{error.code}\n{error.fault or ''}\n{message}\n".encode() + error.last_words


def unpack_job_error(payload: bytes) -> JobError:
    """Inverse of `pack_job_error`, with a message that is safe to show; raise BrokenFrame."""
    told, _, rest = payload.partition(b"\n")
    if (code := told.decode(errors="replace")) not in _CODES:
        raise BrokenFrame(f"the code {printable(code)}")
    told, _, rest = rest.partition(b"\n")
    kind = told.decode(errors="replace")
    message, _, last_words = rest.partition(b"\n")
    try:
        fault = FaultKind(kind) if kind else None
    except ValueError:
        raise BrokenFrame(f"the kind of fault {printable(kind)}") from None
    return JobError(
        ErrorCode(code),
        printable(message.decode(errors="replace"), chars_max=MESSAGE_CHARS_MAX),
        fault=fault,
        last_words=last_words,
    )


def pack_counters(used: GuestAccounting) -> Counters:
    """What a guest has used: nanoseconds, bytes of memory, fuel."""
    return round(used.guest_ms * 1e6), used.memory_bytes_peak, used.fuel or 0


def unpack_counters(counters: Counters, limits: GuestLimits, steps: int) -> GuestAccounting:
    """Inverse of `pack_counters`; more than there was would be a lie."""
    guest_ns, memory_bytes, fuel = counters
    return GuestAccounting(
        guest_ms=guest_ns / 1e6,
        memory_bytes_peak=min(memory_bytes, limits.memory_bytes),
        steps=steps,
        fuel=None if limits.fuel is None else min(fuel, limits.fuel),
    )
