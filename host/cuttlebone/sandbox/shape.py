"""The outline of a wasm file, read in Python before wasmtime sees a byte.

Linear in the file, without recursion, and every count is bounded before it is looped over: no
module makes this slow. Function bodies are only measured; validating them is wasmtime's task.
Format: WebAssembly core specification, "Binary Format".
"""

from dataclasses import dataclass, field
from typing import Final

from cuttlebone.errors import BlockRefused
from cuttlebone.sandbox.bytes_reader import BytesReader, Malformed
from cuttlebone.text import printable

MODULE_BYTES_MAX: Final = 16 << 20
CODE_BYTES_MAX: Final = 8 << 20
BODY_BYTES_MAX: Final = 1 << 20
LOCALS_MAX: Final = 10_000
LOCAL_GROUPS_MAX: Final = 200_000
"""Declarations of locals in all functions together."""
NAME_BYTES_MAX: Final = 1024
SECTIONS_MAX: Final = 1_000

COUNTS_MAX: Final = {
    "types": 4_096,
    "imports": 256,
    "functions": 20_000,
    "tables": 4,
    "memories": 1,
    "globals": 4_096,
    "exports": 256,
    "element segments": 4_096,
    "data segments": 4_096,
}

_TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT = range(1, 8)
_START, _ELEMENT, _CODE, _DATA, _DATA_COUNT, _TAG = range(8, 14)
# The order that the format demands: tags stand before globals, the data count before code.
_ORDER: Final = (
    *(_TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _TAG, _GLOBAL, _EXPORT, _START),
    *(_ELEMENT, _DATA_COUNT, _CODE, _DATA),
)

_COUNTED: Final = {
    _TYPE: "types",
    _IMPORT: "imports",
    _FUNCTION: "functions",
    _TABLE: "tables",
    _MEMORY: "memories",
    _GLOBAL: "globals",
    _EXPORT: "exports",
    _ELEMENT: "element segments",
    _CODE: "functions",
    _DATA: "data segments",
}

_VALUE_TYPES: Final = {
    0x7F: "i32",
    0x7E: "i64",
    0x7D: "f32",
    0x7C: "f64",
    0x7B: "v128",
    0x70: "funcref",
    0x6F: "externref",
}
_KINDS: Final = ("function", "table", "memory", "global", "tag")


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
    faults: list[str] = field(default_factory=list)

    def function_type(self, index: int) -> str:
        """Text of the type of a function; raise Malformed if there is no such function."""
        try:
            return self.types[self.functions[index]]
        except IndexError:
            raise Malformed(f"function {index} does not exist") from None


def read_shape(wasm: bytes) -> ModuleShape:
    """Outline `wasm`; raise BlockRefused if it is no core module or is out of all proportion."""
    if len(wasm) > MODULE_BYTES_MAX:
        raise BlockRefused(
            (f"the module has {len(wasm)} bytes; at most {MODULE_BYTES_MAX} are admitted",)
        )
    if wasm[:8] != b"\0asm\1\0\0\0":
        raise BlockRefused((_what_it_is_instead(wasm),))
    shape = ModuleShape()
    try:
        _read_sections(BytesReader(wasm, 8, len(wasm)), shape)
    except Malformed as error:
        raise BlockRefused((f"malformed module: {error}",)) from None
    return shape


def _what_it_is_instead(wasm: bytes) -> str:
    if wasm[:4] == b"\0asm" and wasm[6:8] == b"\1\0":
        return (
            "this is a WebAssembly component; a block is a core module: build for "
            "wasm32-unknown-unknown without wit-bindgen or `wasm-tools component new`"
        )
    if wasm[:4] == b"\0asm" and len(wasm) >= 8:
        return f"WebAssembly binary version {wasm[4:8].hex()} is not 1; rebuild with a current compiler"
    if wasm.lstrip()[:1] in (b"(", b";"):
        return "this is WebAssembly text; turn it into a binary first, for instance with wat2wasm"
    if not wasm:
        return "not a WebAssembly module: the file is empty"
    start = printable(wasm[:16].decode("latin-1"))
    return f"not a WebAssembly module: it begins with `{start}` instead of \\0asm"


def _read_sections(reader: BytesReader, shape: ModuleShape) -> None:
    last = 0
    sections = 0
    while not reader.exhausted:
        sections += 1
        if sections > SECTIONS_MAX:
            raise Malformed(f"more than {SECTIONS_MAX} sections")
        section, kind = reader.section()
        if kind == 0:
            continue
        if kind not in _ORDER:
            raise Malformed(f"section {kind} is unknown")
        rank = _ORDER.index(kind) + 1
        if rank <= last:
            raise Malformed(f"section {kind} is repeated or out of order")
        last = rank
        _read_section(kind, section, shape)


def _read_section(kind: int, section: BytesReader, shape: ModuleShape) -> None:
    count = 0
    if kind in _COUNTED:
        what = _COUNTED[kind]
        count = section.u32()
        if count > COUNTS_MAX[what]:
            raise Malformed(f"{count} {what}; at most {COUNTS_MAX[what]} are admitted")
    match kind:
        case _ if kind == _TYPE:
            shape.types = [_function_type(section) for _ in range(count)]
        case _ if kind == _IMPORT:
            for _ in range(count):
                _read_import(section, shape)
        case _ if kind == _FUNCTION:
            shape.functions.extend(section.u32() for _ in range(count))
        case _ if kind == _MEMORY:
            shape.memories.extend(_memory(section) for _ in range(count))
        case _ if kind == _EXPORT:
            for _ in range(count):
                _read_export(section, shape)
        case _ if kind == _CODE:
            _measure_code(section, count)
        case _ if kind == _TAG:
            raise Malformed("it uses exceptions, which are off; build without them")
        case _:
            pass  # Tables, globals, elements and data are bounded by count; wasmtime reads them.


def _function_type(section: BytesReader) -> str:
    form = section.byte()
    if form != 0x60:
        raise Malformed(f"type form {form:#x} belongs to the GC proposal, which is off")
    taken = ", ".join(_value_types(section))
    given = ", ".join(_value_types(section))
    return f"({taken}) -> {given or '()'}"


def _value_types(section: BytesReader) -> list[str]:
    names = []
    for code in section.take(section.u32(bound=1_000, what="values of a function type")):
        if code not in _VALUE_TYPES:
            raise Malformed(f"value type {code:#x} needs a proposal that is off")
        names.append(_VALUE_TYPES[code])
    return names


def _read_import(section: BytesReader, shape: ModuleShape) -> None:
    module, name = section.name(NAME_BYTES_MAX), section.name(NAME_BYTES_MAX)
    kind = section.byte()
    if kind >= len(_KINDS):
        raise Malformed(f"import kind {kind} is unknown")
    shape.imports.append(Import(module, name, _KINDS[kind]))
    match _KINDS[kind]:
        case "function":
            shape.functions.append(section.u32())
        case "table":
            section.byte()
            _memory(section)
        case "memory":
            shape.memories.append(_memory(section))
        case _:
            section.byte()
            section.byte()


def _memory(section: BytesReader) -> MemoryShape:
    flags = section.byte()
    pages_min = section.uleb(64)
    if flags & 1:
        section.uleb(64)
    if flags & 8:
        section.u32()
    return MemoryShape(pages_min, bool(flags & 2), bool(flags & 4), bool(flags & 8))


def _read_export(section: BytesReader, shape: ModuleShape) -> None:
    name = section.name(NAME_BYTES_MAX)
    kind, index = section.byte(), section.u32()
    if kind >= len(_KINDS):
        raise Malformed(f"export `{printable(name)}` has the unknown kind {kind}")
    if name in shape.exports:
        raise Malformed(f"`{printable(name)}` is exported twice")
    text = _KINDS[kind]
    if text == "function":
        text = shape.function_type(index)
    shape.exports[name] = text


def _measure_code(section: BytesReader, count: int) -> None:
    if section.length > CODE_BYTES_MAX:
        raise Malformed(f"{section.length} bytes of code; at most {CODE_BYTES_MAX} are admitted")
    groups = 0
    for index in range(count):
        size = section.u32(bound=BODY_BYTES_MAX, what=f"bytes of function {index}")
        body = section.part(size)
        declared = body.u32()
        groups += declared
        if groups > LOCAL_GROUPS_MAX:
            raise Malformed(f"more than {LOCAL_GROUPS_MAX} declarations of locals")
        locals_count = 0
        for _ in range(declared):
            locals_count += body.u32()
            body.byte()
        if locals_count > LOCALS_MAX:
            raise Malformed(f"function {index} has {locals_count} locals; at most {LOCALS_MAX}")
