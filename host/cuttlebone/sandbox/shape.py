"""The outline of a module: what can be known of it without running it."""

from dataclasses import dataclass, field
from typing import Final

from cuttlebone.errors import Fault
from cuttlebone.sandbox.bytes_reader import Malformed

WASM_PAGE_BYTES: Final = 65536


@dataclass(frozen=True, slots=True)
class MemoryShape:
    """One memory's type."""

    pages_min: int
    shared: bool = False
    wide: bool = False
    custom_page: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """One import, by its two names and what it is."""

    module: str
    name: str
    kind: str


@dataclass(slots=True)
class ModuleShape:
    """What the scan found. Filled by it, read-only for everybody else."""

    types: list[str] = field(default_factory=list)
    """Text of each function type: `(i32, i32) -> i32`, `() -> ()`."""
    imports: list[Import] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    """Type index of each function, imported ones first."""
    memories: list[MemoryShape] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    """Name to type text; a function's type, or the kind of another export."""
    faults: list[Fault] = field(default_factory=list)
    """What is malformed, or more than is admitted."""
    whole: bool = True
    """Whether all was read that the contract is about. If not, it tells nothing of what is missing."""

    def function_type(self, index: int) -> str:
        """Text of the type of a function; raise Malformed if there is no such function."""
        try:
            return self.types[self.functions[index]]
        except IndexError:
            raise Malformed(f"function {index} does not exist") from None
