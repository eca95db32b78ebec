"""The bytes of events: what the framework would write, without reading the data and without writing it anew."""

from datetime import UTC, datetime

import pytest
from fastapi.sse import format_sse_event
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.api.event_frames import (
    LARGE_BYTES_MIN,
    PIECE_BYTES_MAX,
    event_frame,
    gap_frame,
    link_frame,
    parting_frame,
    pieces,
)
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone_abi import Json, dump_json, load_json

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\x85\u2028\u2029\n\r\x1c"))
AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(json: bytes, number: int = 7) -> JobEvent:
    return JobEvent(number, EventKind.PROGRESS, json, AT)


@given(value=TEXTS | st.lists(TEXTS | st.integers()) | st.dictionaries(TEXTS, TEXTS))
def test_a_frame_is_one_event_with_the_data_that_is_kept(value: Json) -> None:
    json = dump_json(value)

    frame = event_frame(event(json))

    kind, data, number, *rest = frame.bytes.split(b"\n")
    assert (kind, number, rest) == (b"event: progress", b"id: 7", [b"", b""])
    assert load_json(data.removeprefix(b"data: ")) == load_json(json)
    assert (frame.number, frame.kind, frame.data_bytes) == (7, EventKind.PROGRESS, len(json))


def test_a_frame_is_what_the_framework_writes() -> None:
    expected = format_sse_event(event="progress", data_str='{"a":1}', id="7")

    assert event_frame(event(b'{"a":1}')).bytes == expected
    assert gap_frame(3, None) == format_sse_event(event="gap", data_str='{"after":3,"next":null}')
    assert parting_frame("bye", 5) == format_sse_event(comment="bye", retry=5)


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_what_some_clients_take_for_the_end_of_a_line_is_escaped(end: str) -> None:
    frame = event_frame(event(f'"a{end}b"'.encode()))

    assert end.encode() not in frame.bytes
    assert load_json(frame.bytes.splitlines()[1].removeprefix(b"data: ")) == f"a{end}b"


def test_a_link_tells_the_length_and_where_the_event_is() -> None:
    json = b'"' + b"x" * LARGE_BYTES_MIN + b'"'

    assert link_frame(event_frame(event(json)), "/v1/jobs/a/events") == (
        b'event: large\ndata: {"bytes":%d,"href":"/v1/jobs/a/events/7"}\nid: 7\n\n' % len(json)
    )


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 3 * PIECE_BYTES_MAX])
def test_pieces_are_bounded_and_together_the_whole(size: int) -> None:
    data = bytes(size)

    cut = list(pieces(data))

    assert b"".join(cut) == data
    assert all(0 < len(piece) <= PIECE_BYTES_MAX for piece in cut)
