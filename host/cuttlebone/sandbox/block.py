"""What is known of a module that was admitted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cuttlebone_abi import ABI_VERSION, Signature


@dataclass(frozen=True, slots=True)
class Block:
    """An admitted module: its bytes, and what they were found to be."""

    digest: str
    """`sha256:` and 64 hexadecimal digits of the wasm file."""
    size_bytes: int
    memory_bytes_min: int
    """Linear memory that the module demands before it runs."""
    abi_version: int = ABI_VERSION
    signature: Signature = field(default_factory=Signature)
    exports: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Type of each export, as text: `(i32, i32) -> i32`, `memory`, `global`, `table`."""
    wasm: bytes = field(default=b"", repr=False, compare=False)

    @property
    def wants_tokens(self) -> bool:
        """Whether the block takes part in `infer` token by token."""
        return "cf_on_token" in self.exports
