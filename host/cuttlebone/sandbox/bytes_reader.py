"""A bounded cursor over the bytes of a wasm file."""

from cuttlebone.errors import FaultKind
from cuttlebone.text import printable


class Malformed(ValueError):
    """Bytes that are no module, or more of something than is admitted; the message says which."""

    def __init__(self, message: str, kind: FaultKind = FaultKind.MALFORMED) -> None:
        super().__init__(message)
        self.kind = kind


class BytesReader:
    """Reads one range of a byte string from front to back. Owned by the function that made it.

    Invariant: `0 <= at <= end <= len(data)`; nothing outside the range is ever read.
    """

    __slots__ = ("_at", "_data", "_end", "length")

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data = data
        self._at = start
        self._end = end
        self.length = end - start

    @property
    def exhausted(self) -> bool:
        """Whether the range has been read to its end."""
        return self._at >= self._end

    def byte(self) -> int:
        """Read one byte."""
        if self._at >= self._end:
            raise Malformed(f"it ends early, at byte {self._end}")
        value = self._data[self._at]
        self._at += 1
        return value

    def uleb(self, bits: int) -> int:
        """Read one unsigned LEB128 number of at most `bits` bits."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
            shift += 7
            if shift >= bits:
                raise Malformed(f"a number at byte {self._at} is longer than {bits} bits")
        if value >> bits:
            raise Malformed(f"a number at byte {self._at} is longer than {bits} bits")
        return value

    def u32(self, *, bound: int | None = None, what: str = "") -> int:
        """Read one u32, refusing more than `bound` of `what`."""
        value = self.uleb(32)
        if bound is not None and value > bound:
            raise Malformed(f"{value} {what}; at most {bound} are admitted", FaultKind.SIZE)
        return value

    def take(self, count: int) -> bytes:
        """Read `count` bytes."""
        return self._data[self._advance(count) : self._at]

    def part(self, count: int) -> "BytesReader":
        """The next `count` bytes as a range of their own; this cursor moves past them."""
        start = self._advance(count)
        return BytesReader(self._data, start, self._at)

    def section(self) -> tuple["BytesReader", int]:
        """The next section's content and its id."""
        kind = self.byte()
        return self.part(self.u32()), kind

    def name(self, bytes_max: int) -> str:
        """Read one UTF-8 name."""
        raw = self.take(self.u32(bound=bytes_max, what="bytes in a name"))
        try:
            return raw.decode()
        except UnicodeDecodeError:
            shown = printable(raw.decode("latin-1"))
            raise Malformed(f"the name `{shown}` is not UTF-8") from None

    def _advance(self, count: int) -> int:
        start = self._at
        if count > self._end - start:
            raise Malformed(
                f"{count} bytes announced at byte {start}, but {self._end - start} are left"
            )
        self._at = start + count
        return start
