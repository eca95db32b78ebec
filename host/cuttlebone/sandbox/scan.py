"""The outline of a wasm file, read in Python before wasmtime sees a byte.

Linear in the file, without recursion, and every count is bounded before it is looped over: no
module makes this slow. Function bodies are only measured; validating them is wasmtime's task.
Format: WebAssembly core specification, "Binary Format".
"""

from enum import IntEnum
from typing import Final, assert_never

from cuttlebone.errors import BlockRefused, Fault, FaultKind
from cuttlebone.sandbox.bytes_reader import BytesReader, Malformed
from cuttlebone.sandbox.remedies import advised
from cuttlebone.sandbox.shape import Import, MemoryShape, ModuleShape
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
    "imports": 4_096,
    "functions": 20_000,
    "tables": 4,
    "memories": 1,
    "globals": 4_096,
    "exports": 256,
    "element segments": 4_096,
    "data segments": 65_536,  # Go makes 21 000 for a small program
}


class Section(IntEnum):
    """The sections of a module, in the order that the format demands; custom ones (0) stand anywhere."""

    TYPE = 1
    IMPORT = 2
    FUNCTION = 3
    TABLE = 4
    MEMORY = 5
    TAG = 13
    GLOBAL = 6
    EXPORT = 7
    START = 8
    ELEMENT = 9
    DATA_COUNT = 12
    CODE = 10
    DATA = 11


_ORDER: Final = tuple(Section)
_CUSTOM: Final = 0
_NEEDED_LATER: Final = frozenset({Section.TYPE, Section.IMPORT, Section.FUNCTION})
"""Without them there is no telling of what type an export is."""
_CONTRACTED: Final = _NEEDED_LATER | {Section.EXPORT}

_COUNTED: Final = {
    Section.TYPE: "types",
    Section.IMPORT: "imports",
    Section.FUNCTION: "functions",
    Section.TABLE: "tables",
    Section.MEMORY: "memories",
    Section.GLOBAL: "globals",
    Section.EXPORT: "exports",
    Section.ELEMENT: "element segments",
    Section.CODE: "functions",
    Section.DATA: "data segments",
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


def read_shape(wasm: bytes) -> ModuleShape:
    """Outline `wasm`, with all that is wrong so far; raise BlockRefused if it is no core module."""
    if len(wasm) > MODULE_BYTES_MAX:
        message = f"the module has {len(wasm)} bytes; at most {MODULE_BYTES_MAX} are admitted"
        raise BlockRefused((advised(FaultKind.SIZE, message),))
    if wasm[:8] != b"\0asm\1\0\0\0":
        raise BlockRefused((_what_it_is_instead(wasm),))
    shape = ModuleShape()
    try:
        _read_sections(BytesReader(wasm, 8, len(wasm)), shape)
    except Malformed as error:
        _note(error, shape)
        shape.whole = False
    return shape


def _what_it_is_instead(wasm: bytes) -> Fault:
    if wasm[:4] == b"\0asm" and wasm[6:8] == b"\1\0":
        return advised(
            FaultKind.COMPONENT, "this is a WebAssembly component; a block is a core module"
        )
    if wasm[:4] == b"\0asm" and len(wasm) >= 8:
        return advised(FaultKind.NOT_WASM, f"WebAssembly binary version {wasm[4:8].hex()} is not 1")
    if wasm.lstrip()[:1] in (b"(", b";"):
        return advised(FaultKind.TEXT, "this is WebAssembly text")
    if not wasm:
        return advised(FaultKind.NOT_WASM, "not a WebAssembly module: the file is empty")
    start = printable(wasm[:16].decode("latin-1"))
    return advised(
        FaultKind.NOT_WASM,
        f"not a WebAssembly module: it begins with `{start}` instead of \\0asm",
    )


def _read_sections(reader: BytesReader, shape: ModuleShape) -> None:
    last = -1
    sections = 0
    while not reader.exhausted:
        sections += 1
        if sections > SECTIONS_MAX:
            raise Malformed(f"more than {SECTIONS_MAX} sections", FaultKind.SIZE)
        content, number = reader.section()
        if number == _CUSTOM:
            continue
        if number not in _ORDER:
            raise Malformed(f"section {number} is unknown")
        section = Section(number)
        rank = _ORDER.index(section)
        if rank <= last:
            raise Malformed(f"section {number} is repeated or out of order")
        last = rank
        try:
            _read_section(section, content, shape)
        except Malformed as error:
            _note(error, shape)
            shape.whole &= section not in _CONTRACTED
            if section in _NEEDED_LATER:
                return


def _note(error: Malformed, shape: ModuleShape) -> None:
    shape.faults.append(advised(error.kind, f"malformed module: {error}"))


def _read_section(section: Section, content: BytesReader, shape: ModuleShape) -> None:
    match section:
        case Section.TYPE:
            shape.types = [_function_type(content) for _ in _counted(section, content)]
        case Section.IMPORT:
            for _ in _counted(section, content):
                _read_import(content, shape)
        case Section.FUNCTION:
            shape.functions.extend(content.u32() for _ in _counted(section, content))
        case Section.MEMORY:
            shape.memories.extend(_memory(content) for _ in _counted(section, content))
        case Section.EXPORT:
            for _ in _counted(section, content):
                _read_export(content, shape)
        case Section.CODE:
            _measure_code(content, _counted(section, content))
        case Section.TABLE | Section.GLOBAL | Section.ELEMENT | Section.DATA:
            _counted(section, content)  # wasmtime reads the rest
        case Section.START | Section.DATA_COUNT:
            return  # one number, which wasmtime reads
        case Section.TAG:
            raise Malformed("it uses exceptions, which are off", FaultKind.EXCEPTIONS)
        case _:
            assert_never(section)


def _counted(section: Section, content: BytesReader) -> range:
    """One index for each thing in a section; raise Malformed if there are too many."""
    what, count = _COUNTED[section], content.u32()
    if count > COUNTS_MAX[what]:
        kind = FaultKind.MULTI_MEMORY if section is Section.MEMORY else FaultKind.SIZE
        raise Malformed(f"{count} {what}; at most {COUNTS_MAX[what]} are admitted", kind)
    return range(count)


def _function_type(section: BytesReader) -> str:
    form = section.byte()
    if form != 0x60:
        raise Malformed(
            f"type form {form:#x} belongs to the GC proposal, which is off",
            FaultKind.OTHER_PROPOSAL,
        )
    taken = ", ".join(_value_types(section))
    given = ", ".join(_value_types(section))
    return f"({taken}) -> {given or '()'}"


def _value_types(section: BytesReader) -> list[str]:
    names = []
    for code in section.take(section.u32(bound=1_000, what="values of a function type")):
        if code not in _VALUE_TYPES:
            raise Malformed(
                f"value type {code:#x} needs a proposal that is off", FaultKind.OTHER_PROPOSAL
            )
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


def _measure_code(section: BytesReader, indices: range) -> None:
    if section.length > CODE_BYTES_MAX:
        message = f"{section.length} bytes of code; at most {CODE_BYTES_MAX} are admitted"
        raise Malformed(message, FaultKind.SIZE)
    groups = 0
    for index in indices:
        size = section.u32(bound=BODY_BYTES_MAX, what=f"bytes of function {index}")
        body = section.part(size)
        declared = body.u32()
        groups += declared
        if groups > LOCAL_GROUPS_MAX:
            message = f"more than {LOCAL_GROUPS_MAX} declarations of locals"
            raise Malformed(message, FaultKind.SIZE)
        locals_count = 0
        for _ in range(declared):
            locals_count += body.u32()
            body.byte()
        if locals_count > LOCALS_MAX:
            message = f"function {index} has {locals_count} locals; at most {LOCALS_MAX}"
            raise Malformed(message, FaultKind.SIZE)
