"""From the bytes of a wasm file to a Block, or to everything that is wrong with it."""

import hashlib
import threading
from types import MappingProxyType
from typing import Final

from cuttlebone.errors import BlockRefused, Interrupted, JobError
from cuttlebone.sandbox.block import WASM_PAGE_BYTES, Block
from cuttlebone.sandbox.contract import contract_faults
from cuttlebone.sandbox.guest import GuestLimits
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.shape import ModuleShape, read_shape
from cuttlebone_abi import ABI_VERSION, InvalidSignature, Signature, parse_signature

PROBE_S_MAX: Final = 2.0
"""Time that start function, `_initialize`, `cf_abi_version` and `cf_signature` have at admission."""
PROBE_MEMORY_BYTES_MAX: Final = 1 << 30


def digest_of(wasm: bytes) -> str:
    """Name of a module: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(wasm).hexdigest()}"


def admissible_shape(wasm: bytes) -> ModuleShape:
    """Scan a module in Python; raise BlockRefused with every fault that its outline has."""
    shape = read_shape(wasm)
    if faults := contract_faults(shape):
        raise BlockRefused(tuple(faults))
    return shape


def block_of(wasm: bytes, shape: ModuleShape, artefact: bytes) -> Block:
    """Ask the module itself for its ABI version and signature; raise BlockRefused."""
    abi_version, signature = _probe(artefact)
    return Block(
        digest=digest_of(wasm),
        size_bytes=len(wasm),
        memory_bytes_min=sum(memory.pages_min for memory in shape.memories) * WASM_PAGE_BYTES,
        abi_version=abi_version,
        signature=signature,
        exports=MappingProxyType(dict(shape.exports)),
    )


def _probe(artefact: bytes) -> tuple[int, Signature]:
    instance = Instance(artefact, GuestLimits(memory_bytes=PROBE_MEMORY_BYTES_MAX))
    alarm = threading.Timer(PROBE_S_MAX, instance.engine.increment_epoch)
    alarm.daemon = True
    alarm.start()
    try:
        instance.start()
        version, described = instance.abi_version(), instance.signature()
    except JobError as error:
        raise BlockRefused((f"it fails before its first job: {error.message}",)) from None
    except Interrupted as error:
        raise BlockRefused((f"{error} did not end within {PROBE_S_MAX} s",)) from None
    finally:
        alarm.cancel()
        alarm.join()
        instance.close()
    return _checked(version, described)


def _checked(version: int | None, described: bytes | None) -> tuple[int, Signature]:
    faults = []
    if version is not None and not 1 <= version <= ABI_VERSION:
        faults.append(
            f"it was built for ABI version {version}, but this host speaks {ABI_VERSION}: update "
            "the host, or build it with an older SDK"
        )
    signature = Signature()
    try:
        signature = signature if described is None else parse_signature(described)
    except InvalidSignature as error:
        faults.append(f"its cf_signature is wrong: {error}")
    if faults:
        raise BlockRefused(tuple(faults))
    return version or 1, signature
