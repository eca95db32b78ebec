"""What a module says of itself when it is asked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Description:
    """ABI version and signature; None where the module does not export the function."""

    abi_version: int | None
    signature: bytes | None
