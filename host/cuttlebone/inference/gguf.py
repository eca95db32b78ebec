"""Reads the header of a GGUF file, so that no other file and no cut one reaches llama.cpp.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from cuttlebone.errors import OperatorError
from cuttlebone.text import printable

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
ENTRIES_MAX: Final = 1 << 16
"""Metadata entries, and tensors."""
STRING_BYTES_MAX: Final = 16 << 20
ARRAY_ITEMS_MAX: Final = 1 << 24
DIMENSIONS_MAX: Final = 4

Value: TypeAlias = int | float | bool | str

_SCALARS: Final[Mapping[int, str]] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_STRING: Final = 8
_ARRAY: Final = 9


@dataclass(frozen=True, slots=True)
class Header:
    """The metadata of a model file; of arrays, such as vocabularies, how many items they have."""

    values: Mapping[str, Value]
    tensors: int
    size_bytes: int
    lengths: Mapping[str, int] = field(default_factory=dict)

    def number(self, key: str, default: int = 0) -> int:
        """An integer of the metadata, `{arch}` in the key standing for the architecture."""
        value = self.values.get(key.format(arch=self.values.get("general.architecture")))
        return value if isinstance(value, int) else default

    def items(self, key: str) -> int:
        """How many items an array of the metadata has; 0 if it is not there."""
        return self.lengths.get(key, 0)

    def cell_bytes(self) -> int:
        """What one token takes in a key-value cache of 16-bit numbers, all layers together."""
        heads = self.number("{arch}.attention.head_count", 1) or 1
        width = self.number("{arch}.embedding_length") // heads
        keys = self.number("{arch}.attention.key_length", width)
        values = self.number("{arch}.attention.value_length", width)
        shared_heads = self.number("{arch}.attention.head_count_kv", heads)
        return self.number("{arch}.block_count") * shared_heads * (keys + values) * 2


def read_header(path: Path) -> Header:
    """Read and check the header of a model file; raise OperatorError if it is not one."""
    try:
        with path.open("rb") as file:
            return _Reader(file, path).header()
    except OSError as error:
        raise OperatorError(
            f"the model file {printable(str(path))} cannot be read: {error.strerror}"
        ) from None


class _Reader:
    """Reads one file from its beginning. Every count is checked before anything is allocated."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = printable(str(path))
        self._size = path.stat().st_size

    def header(self) -> Header:
        magic = self._file.read(4)
        if magic != MAGIC:
            raise OperatorError(
                f"{self._path} is not a GGUF model: it begins with {magic!r} instead of {MAGIC!r}"
            )
        version = self._scalar("<I")
        if version not in VERSIONS:
            raise self._broken(f"GGUF version {version}; versions 2 and 3 are read")
        tensors = self._count("<Q", ENTRIES_MAX, "tensors")
        entries = self._count("<Q", ENTRIES_MAX, "metadata entries")
        values: dict[str, Value] = {}
        lengths: dict[str, int] = {}
        for _ in range(entries):
            key = self._string()
            kind = int(self._scalar("<I"))
            if kind == _ARRAY:
                lengths[key] = self._skip_array()
            else:
                values[key] = self._value(kind)
        header = Header(values, tensors, self._size, lengths)
        self._check_tensors(tensors, header.number("general.alignment", 32))
        return header

    def _check_tensors(self, tensors: int, alignment: int) -> None:
        last = 0
        for _ in range(tensors):
            self._string()
            dimensions = self._count("<I", DIMENSIONS_MAX, "dimensions of a tensor")
            self._bytes(8 * dimensions + 4)  # the sizes and the type, which llama.cpp checks
            last = max(last, int(self._scalar("<Q")))
        data = -(-self._file.tell() // max(1, alignment)) * max(1, alignment)
        if data + last >= self._size and tensors:
            raise self._broken(
                f"it is cut off: it has {self._size} bytes, but a tensor begins at {data + last}"
            )

    def _value(self, kind: int) -> Value:
        if kind == _STRING:
            return self._string()
        if kind not in _SCALARS:
            raise self._broken(f"a metadata value of unknown type {kind}")
        return self._scalar(_SCALARS[kind])

    def _skip_array(self) -> int:
        """Pass over an array; answer how many items it has."""
        kind = int(self._scalar("<I"))
        items = self._count("<Q", ARRAY_ITEMS_MAX, "items of an array")
        if kind == _STRING:
            for _ in range(items):
                self._skip(self._count("<Q", STRING_BYTES_MAX, "bytes of a text"))
        elif kind in _SCALARS:
            self._skip(items * struct.calcsize(_SCALARS[kind]))
        else:
            raise self._broken(f"an array of unknown type {kind}")
        return items

    def _string(self) -> str:
        size = self._count("<Q", STRING_BYTES_MAX, "bytes of a text")
        return self._bytes(size).decode("utf-8", "replace")

    def _count(self, form: str, most: int, what: str) -> int:
        number = int(self._scalar(form))
        if number > most:
            raise self._broken(f"{number} {what}; at most {most} are read")
        return number

    def _scalar(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self._bytes(struct.calcsize(form)))[0]
        return value

    def _bytes(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise self._broken("it is cut off inside its header")
        return data

    def _skip(self, size: int) -> None:
        if self._file.tell() + size > self._size:
            raise self._broken("it is cut off inside its header")
        self._file.seek(size, 1)

    def _broken(self, reason: str) -> OperatorError:
        return OperatorError(f"{self._path} is not a usable GGUF model: {reason}")
