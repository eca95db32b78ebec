"""Whether a module runs its constructors at every call: what a linker does where nobody else calls them.

wasm-ld puts a wrapper around each export then, which calls all constructors, the function, and what has
to be called at an exit. A block loses by it, between two calls, what its constructors set up.
"""

from typing import Final

from cuttlebone.sandbox.bytes_reader import BytesReader, Malformed
from cuttlebone.sandbox.scan import Section

_HEADER_BYTES: Final = 8
_NAME_BYTES_MAX: Final = 1024
_FUNCTION: Final = 0
_CALL, _LOCAL_GET, _END = 0x10, 0x20, 0x0B
_CALLED_TWICE: Final = {"cf_init": 2, "cf_step": 2}
"""Exports that every job calls, with the number of their parameters."""


def constructs_at_each_call(wasm: bytes) -> bool:
    """Whether `cf_init` and `cf_step` are such wrappers; False for what is malformed."""
    try:
        exports, bodies = _read(wasm)
        first = {
            _constructors(bodies[exports[name]], parameters)
            for name, parameters in _CALLED_TWICE.items()
        }
    except (Malformed, KeyError, IndexError):
        return False
    return len(first) == 1 and None not in first


def _read(wasm: bytes) -> tuple[dict[str, int], list[BytesReader]]:
    """Indices of exported functions, and bodies of all: a block imports none, so the indices agree."""
    exports: dict[str, int] = {}
    bodies: list[BytesReader] = []
    reader = BytesReader(wasm, _HEADER_BYTES, len(wasm))
    while not reader.exhausted:
        content, number = reader.section()
        if number == Section.EXPORT:
            for _ in range(content.u32()):
                name, kind, index = content.name(_NAME_BYTES_MAX), content.byte(), content.u32()
                if kind == _FUNCTION:
                    exports[name] = index
        elif number == Section.CODE:
            bodies.extend(content.part(content.u32()) for _ in range(content.u32()))
    return exports, bodies


def _constructors(body: BytesReader, parameters: int) -> int | None:
    """What a wrapper calls first; None for any other body."""
    if body.u32() or body.byte() != _CALL:
        return None
    called = body.u32()
    for parameter in range(parameters):
        if body.byte() != _LOCAL_GET or body.u32() != parameter:
            return None
    if body.byte() != _CALL:
        return None
    body.u32()
    after = body.byte()
    if after == _CALL:
        body.u32()
        after = body.byte()
    return called if after == _END and body.exhausted else None
