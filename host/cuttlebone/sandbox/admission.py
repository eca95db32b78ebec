"""From the bytes of a wasm file to a Block, or to everything that is wrong with it."""

import hashlib
import threading
from types import MappingProxyType
from typing import Final

from cuttlebone.errors import BlockRefused, Fault, FaultKind, Interrupted, JobError
from cuttlebone.sandbox.block import Block
from cuttlebone.sandbox.contract import contract_faults
from cuttlebone.sandbox.description import Description
from cuttlebone.sandbox.guest import GuestLimits
from cuttlebone.sandbox.guest_process import GuestProcess
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.remedies import advised
from cuttlebone.sandbox.scan import read_shape
from cuttlebone.sandbox.shape import WASM_PAGE_BYTES, ModuleShape
from cuttlebone_abi import ABI_VERSION, ErrorCode, InvalidSignature, Signature, parse_signature

PROBE_S_MAX: Final = 60.0
"""Wall clock for start function, `_initialize`, `cf_abi_version` and `cf_signature` at admission."""
PROBE_LIMITS: Final = GuestLimits(memory_bytes=1 << 30, cpu_s=1)
"""Processor time tells a loop from a busy machine, but only a guest process has its own."""


def digest_of(wasm: bytes) -> str:
    """Name of a module: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(wasm).hexdigest()}"


def admissible_shape(wasm: bytes) -> ModuleShape:
    """Scan a module in Python; raise BlockRefused with every fault that its outline has."""
    shape = read_shape(wasm)
    if faults := contract_faults(shape):
        raise BlockRefused(tuple(faults))
    return shape


def block_of(
    wasm: bytes, shape: ModuleShape, guest: Instance | GuestProcess, *, probe_s_max: float
) -> Block:
    """Ask a fresh guest for its ABI version and signature, and close it; raise BlockRefused."""
    abi_version, signature = _checked(_probe(guest, probe_s_max))
    return Block(
        digest=digest_of(wasm),
        size_bytes=len(wasm),
        memory_bytes_min=sum(memory.pages_min for memory in shape.memories) * WASM_PAGE_BYTES,
        abi_version=abi_version,
        signature=signature,
        exports=MappingProxyType(dict(shape.exports)),
        wasm=wasm,
    )


def _probe(guest: Instance | GuestProcess, probe_s_max: float) -> Description:
    alarm = threading.Timer(probe_s_max, guest.interrupt)
    alarm.daemon = True
    alarm.start()
    try:
        return guest.describe()
    except JobError as error:
        if error.code is ErrorCode.TIMEOUT:
            raise BlockRefused(
                (_never_ready(f"{PROBE_LIMITS.cpu_s} s of processor time"),)
            ) from None
        # A trap there is none of a job, and is mended where the module gets ready.
        kind = FaultKind.START if error.fault in (None, FaultKind.TRAP) else error.fault
        message = f"it fails before its first job: {error.message}"
        raise BlockRefused((advised(kind, message),)) from None
    except Interrupted:
        raise BlockRefused((_never_ready(f"{probe_s_max} s"),)) from None
    finally:
        alarm.cancel()
        alarm.join()
        guest.close()


def _never_ready(within: str) -> Fault:
    message = (
        "its start function, _initialize, cf_abi_version and cf_signature did not end "
        f"within {within}"
    )
    return advised(FaultKind.START, message)


def _checked(description: Description) -> tuple[int, Signature]:
    version, described = description.abi_version, description.signature
    faults = []
    if version is not None and not 1 <= version <= ABI_VERSION:
        message = f"it was built for ABI version {version}, but this host speaks {ABI_VERSION}"
        faults.append(advised(FaultKind.ABI_VERSION, message))
    signature = Signature()
    try:
        signature = signature if described is None else parse_signature(described)
    except InvalidSignature as error:
        message = f"its cf_signature is wrong: {error}"
        faults.append(advised(FaultKind.SIGNATURE, message, name="cf_signature"))
    if faults:
        raise BlockRefused(tuple(faults))
    return version or 1, signature
