"""What a wasm file is made of, and which toolchain made it, read without running a byte of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cuttlebone.sandbox.bytes_reader import BytesReader, Malformed
from cuttlebone.sandbox.remedies import Toolchain

_PRODUCERS_BYTES_MAX: Final = 64 << 10
_NAME_BYTES_MAX: Final = 1024
_SECTIONS: Final = (
    *("custom", "types", "imports", "functions", "tables", "memories", "globals", "exports"),
    *("start", "elements", "code", "data", "data count", "tags"),
)


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The sections of a file as far as it could be read."""

    sections: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each kind of section; a custom one by its own name."""
    producers: Mapping[str, str] = field(default_factory=dict)
    """`language`, `processed-by` and `sdk`, as the file states them."""

    @property
    def debug_bytes(self) -> int:
        """Bytes that serve a debugger alone."""
        return sum(size for name, size in self.sections.items() if name.startswith(".debug"))

    @property
    def has_names(self) -> bool:
        """Whether functions have names that a trap can tell."""
        return "name" in self.sections


def read_anatomy(wasm: bytes) -> Anatomy:
    """Measure the sections of a file; what comes after a malformed place is left out."""
    sections: dict[str, int] = {}
    producers: dict[str, str] = {}
    reader = BytesReader(wasm, min(8, len(wasm)), len(wasm))
    try:
        while not reader.exhausted:
            section, kind = reader.section()
            size = section.length
            name = section.name(_NAME_BYTES_MAX) if kind == 0 else _section_name(kind)
            sections[name] = sections.get(name, 0) + size
            if name == "producers" and size <= _PRODUCERS_BYTES_MAX:
                producers.update(_read_producers(section))
    except Malformed:
        pass  # the check of the module says where
    return Anatomy(sections, producers)


def toolchain_of(anatomy: Anatomy, imports: frozenset[str], exports: frozenset[str]) -> Toolchain:
    """Tell the toolchain from producers, imports (`module.name`) and exports."""
    told = " ".join(anatomy.producers.values()).lower()
    if "go" in told.replace("(", " ").split() or "tinygo" in told or _any(imports, "go.", "gojs."):
        return Toolchain.GO
    if "rust" in told or _any(imports, "wbg.", "__wbindgen"):
        return Toolchain.RUST
    if "zig" in told:
        return Toolchain.ZIG
    if "clang" in told or "__original_main" in exports or "emscripten" in told:
        return Toolchain.C
    if imports & {"env.abort", "env.seed", "env.trace"} or _any(exports, "__new", "__pin"):
        return Toolchain.ASSEMBLYSCRIPT
    return Toolchain.UNKNOWN


def without_debug(wasm: bytes) -> bytes:
    """The same module without its debug sections; function names stay. It has to be well-formed."""
    kept = bytearray(wasm[:8])
    reader = BytesReader(wasm, 8, len(wasm))
    while not reader.exhausted:
        section, kind = reader.section()
        content = section.take(section.length)
        custom = BytesReader(content, 0, len(content)).name(_NAME_BYTES_MAX) if kind == 0 else ""
        if not custom.startswith(".debug"):
            kept += bytes([kind]) + _leb128(len(content)) + content
    return bytes(kept)


def _leb128(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _any(names: frozenset[str], *beginnings: str) -> bool:
    return any(name.startswith(beginnings) for name in names)


def _section_name(kind: int) -> str:
    return _SECTIONS[kind] if kind < len(_SECTIONS) else f"section {kind}"


def _read_producers(section: BytesReader) -> dict[str, str]:
    fields = {}
    for _ in range(section.u32(bound=16, what="fields of producers")):
        name = section.name(_NAME_BYTES_MAX)
        values = [
            f"{section.name(_NAME_BYTES_MAX)} {section.name(_NAME_BYTES_MAX)}".strip()
            for _ in range(section.u32(bound=64, what="producers"))
        ]
        fields[name] = ", ".join(values)
    return fields
