"""Events as the bytes that a stream carries: made of what the store keeps, without reading it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone_abi import Json, dump_json

LARGE_BYTES_MIN: Final = (256 << 10) + 1
"""From there on a client that asks for links gets one in place of the data of an event."""
PIECE_BYTES_MAX: Final = 64 << 10
"""What is handed to a connection at once: between two pieces everybody else has a turn."""
PING: Final = b": ping\n\n"

# JSON allows these as they are, but not every client splits lines only where it should.
_LINE_ENDS: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class EventFrame:
    """An event as a stream carries it, for any number of readers."""

    number: int
    kind: EventKind
    data_bytes: int
    """Of the data, as it is kept."""
    bytes: bytes


def event_frame(event: JobEvent) -> EventFrame:
    """The frame of an event. It costs a copy of the data, so it is made once for all readers."""
    made = _frame(event.kind, event.json, event.number)
    return EventFrame(event.number, event.kind, len(event.json), made)


def link_frame(frame: EventFrame, href: str) -> bytes:
    """What stands in place of a large event for a client that fetches it by itself."""
    return _frame(
        "large",
        dump_json({"bytes": frame.data_bytes, "href": f"{href}/{frame.number}"}),
        frame.number,
    )


def snapshot_frame(snapshot: BaseModel) -> bytes:
    """What a stream begins with."""
    return _frame("snapshot", dump_json(snapshot))


def gap_frame(after: int, following: int | None) -> bytes:
    """Say that events are missing after one, up to a following one or to the end."""
    gap: Json = {"after": after, "next": following}
    return _frame("gap", dump_json(gap))


def parting_frame(comment: str, retry_ms: int) -> bytes:
    """Say why a stream ends before its result, and when to come back."""
    return f": {comment}\nretry: {retry_ms}\n\n".encode()


def pieces(data: bytes) -> Iterator[memoryview]:
    """Cut bytes into what is handed to a connection at once."""
    view = memoryview(data)
    for start in range(0, len(data), PIECE_BYTES_MAX):
        yield view[start : start + PIECE_BYTES_MAX]


def _frame(kind: str, json: bytes, number: int | None = None) -> bytes:
    for found, escaped in _LINE_ENDS:
        json = json.replace(found, escaped)
    numbered = b"" if number is None else b"id: %d\n" % number
    return b"event: %b\ndata: %b\n%b\n" % (kind.encode(), json, numbered)
