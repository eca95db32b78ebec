"""The table of slicing, row by row, and the law of windows over any bytes."""

import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuttlebone.errors import CommandError
from cuttlebone.files.windows import PART_BYTES_MAX, Window, read_window
from cuttlebone_abi import ErrorCode

WIDE = 1 << 20


class Case(TypedDict):
    name: str
    hex: str
    text: str


CASES: list[Case] = json.loads(Path(__file__).with_name("utf8_cases.json").read_text())


def window(
    data: bytes, offset: int, length: int, *, window_bytes_max: int = WIDE, replace: bool = False
) -> Window:
    def pread(count: int, start: int) -> bytes:
        assert count > 0
        assert start + count <= len(data), "read past the end"
        return data[start : start + count]

    return read_window(
        pread,
        len(data),
        offset,
        length,
        window_bytes_max=window_bytes_max,
        replace_invalid=replace,
    )


def refusal(data: bytes, offset: int, length: int, *, replace: bool = False) -> CommandError:
    with pytest.raises(CommandError) as refused:
        window(data, offset, length, replace=replace)
    return refused.value


def walk(
    data: bytes, lengths: list[int], *, start: int = 0, replace: bool = False
) -> Iterator[Window]:
    offset = start
    for length in cycle(lengths):
        if offset == len(data):
            return
        step = window(data, offset, length, replace=replace)
        assert offset < step.next_offset <= offset + length
        yield step
        offset = step.next_offset


def walk_until_refused(data: bytes, lengths: list[int]) -> tuple[str, CommandError | None]:
    text = ""
    try:
        for step in walk(data, lengths):
            text += step.text
    except CommandError as error:
        return text, error
    return text, None


EURO = "a€b".encode()  # a at 0, the euro sign at 1 to 3, b at 4


@pytest.mark.parametrize("replace", [False, True])
class TestTableOfSlicing:
    def test_at_the_end_the_answer_is_empty(self, *, replace: bool) -> None:
        assert window(EURO, 5, 10, replace=replace) == Window("", 5)

    def test_an_empty_file_is_at_its_end_at_once(self, *, replace: bool) -> None:
        assert window(b"", 0, 10, replace=replace) == Window("", 0)

    def test_past_the_end_is_refused_naming_offset_and_length(self, *, replace: bool) -> None:
        error = refusal(EURO, 6, 10, replace=replace)
        assert error.code is ErrorCode.INVALID_ARGUMENT
        assert "offset 6" in error.message
        assert "5 bytes" in error.message

    def test_the_largest_offset_is_refused_and_not_read(self, *, replace: bool) -> None:
        assert refusal(EURO, (1 << 64) - 1, 1, replace=replace).code is ErrorCode.INVALID_ARGUMENT

    def test_no_length_gives_no_text_and_stays(self, *, replace: bool) -> None:
        assert window(EURO, 1, 0, replace=replace) == Window("", 1)

    def test_no_length_past_the_end_is_refused_all_the_same(self, *, replace: bool) -> None:
        assert refusal(EURO, 6, 0, replace=replace).code is ErrorCode.INVALID_ARGUMENT

    def test_a_window_that_the_maximum_would_cut_is_refused(self, *, replace: bool) -> None:
        with pytest.raises(CommandError, match=r"window_bytes: 9 bytes .* at most 4 ") as refused:
            window(b"abcdef", 0, 9, window_bytes_max=4, replace=replace)
        assert refused.value.code is ErrorCode.LIMIT_EXCEEDED

    def test_a_wide_window_that_the_end_cuts_is_read(self, *, replace: bool) -> None:
        assert window(b"abcdef", 2, 1 << 63, window_bytes_max=4, replace=replace) == Window(
            "cdef", 6
        )

    @pytest.mark.parametrize("length", [2, 3])
    def test_a_character_at_the_end_of_a_window_is_left_for_the_next(
        self, length: int, *, replace: bool
    ) -> None:
        assert window(EURO, 0, length, replace=replace) == Window("a", 1)

    @pytest.mark.parametrize("length", [1, 2])
    def test_a_window_narrower_than_its_character_is_refused_naming_the_bytes_needed(
        self, length: int, *, replace: bool
    ) -> None:
        error = refusal(EURO, 1, length, replace=replace)
        assert error.code is ErrorCode.INVALID_ARGUMENT
        assert "needs a window of 3 bytes" in error.message

    def test_a_window_just_as_wide_as_its_character_holds_it(self, *, replace: bool) -> None:
        assert window(EURO, 1, 3, replace=replace) == Window("€", 4)

    def test_text_before_an_invalid_byte_is_given(self, *, replace: bool) -> None:
        expected = Window("ab\ufffdc", 4) if replace else Window("ab", 2)
        assert window(b"ab\xffc", 0, 10, replace=replace) == expected


@pytest.mark.parametrize("offset", [2, 3])
def test_inside_a_character_is_refused_naming_the_boundaries_on_both_sides(offset: int) -> None:
    error = refusal(EURO, offset, 10)
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "starts at 1 " in error.message
    assert error.message.endswith("at 4")


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"ab\xffc", 2),
        (b"ab\x80c", 2),
        (b"\xe2\x82A", 0),  # unfinished
        (b"\xe2\x82A", 1),  # inside something unfinished, which is no character
        (b"\xe2\x82", 0),  # unfinished at the end of the file
        (b"\xc0\xaf", 0),  # overlong
        (b"\xed\xa0\x80", 0),  # a surrogate
    ],
)
@pytest.mark.parametrize("length", [1, 2, 10])
def test_a_byte_that_is_not_utf_8_is_refused_naming_byte_and_offset(
    data: bytes, offset: int, length: int
) -> None:
    error = refusal(data, offset, length)
    assert error.code is ErrorCode.NOT_TEXT
    assert f"0x{data[offset]:02x} at offset {offset} " in error.message
    assert '"invalid":"replace"' in error.message


def test_replacing_may_start_inside_a_character_and_counts_its_bytes_one_by_one() -> None:
    assert window(EURO, 2, 10, replace=True) == Window("\ufffd\ufffdb", 5)


def test_an_invalid_part_as_wide_as_the_window_is_replaced_though_it_looked_unfinished() -> None:
    assert window(b"\xe2\x82A", 0, 2, replace=True) == Window("\ufffd", 2)


def test_a_window_narrower_than_an_invalid_part_is_refused_and_never_cuts_it_in_two() -> None:
    error = refusal(b"\xe2\x82A", 0, 1, replace=True)
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "needs a window of 2 bytes" in error.message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.parametrize("length", [4, 5, 7, 100])
def test_decoder_cases_are_replaced_part_by_part(case: Case, length: int) -> None:
    data = bytes.fromhex(case["hex"])
    assert "".join(step.text for step in walk(data, [length], replace=True)) == case["text"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_decoder_cases_are_text_exactly_when_nothing_was_replaced(case: Case) -> None:
    data = bytes.fromhex(case["hex"])
    if case["text"].encode() == data:
        assert "".join(step.text for step in walk(data, [4])) == case["text"]
    else:
        with pytest.raises(CommandError) as refused:
            list(walk(data, [4]))
        assert refused.value.code is ErrorCode.NOT_TEXT


FRAGMENTS = st.sampled_from([bytes.fromhex(case["hex"]) for case in CASES])
ANY_BYTES = st.one_of(
    st.lists(
        st.one_of(FRAGMENTS, st.binary(max_size=3), st.text(max_size=3).map(str.encode)),
        max_size=12,
    ).map(b"".join),
    st.binary(max_size=64),
)
LENGTHS = st.lists(st.integers(PART_BYTES_MAX, 24), min_size=1, max_size=5)


@given(text=st.text(max_size=60), lengths=LENGTHS)
def test_walking_any_text_ends_and_loses_nothing(text: str, lengths: list[int]) -> None:
    assert "".join(step.text for step in walk(text.encode(), lengths)) == text


@given(data=ANY_BYTES, lengths=LENGTHS)
@example(data=b"\xed\xa0", lengths=[4])
def test_walking_any_bytes_ends_at_the_end_or_at_the_first_byte_that_is_not_utf_8(
    data: bytes, lengths: list[int]
) -> None:
    try:
        valid = data.decode()
    except UnicodeDecodeError as fault:
        valid = data[: fault.start].decode()
    text, error = walk_until_refused(data, lengths)
    assert text == valid
    if valid.encode() == data:
        assert error is None
    else:
        assert error is not None
        assert error.code is ErrorCode.NOT_TEXT
        assert f"offset {len(valid.encode())} " in error.message


@given(data=ANY_BYTES, lengths=LENGTHS, start=st.integers(0, 64))
def test_replacing_gives_what_decoding_the_whole_gives_however_it_is_cut(
    data: bytes, lengths: list[int], start: int
) -> None:
    start = min(start, len(data))
    texts = [step.text for step in walk(data, lengths, start=start, replace=True)]
    assert "".join(texts) == data[start:].decode("utf-8", "replace")


@given(text=st.text(min_size=1, max_size=20), data=st.data())
def test_every_offset_is_a_boundary_or_refused_with_the_two_around_it(
    text: str, data: st.DataObject
) -> None:
    encoded = text.encode()
    boundaries = [len(text[:at].encode()) for at in range(len(text) + 1)]
    offset = data.draw(st.integers(0, len(encoded)))
    if offset in boundaries:
        assert window(encoded, offset, WIDE).text.encode() == encoded[offset:]
    else:
        below = max(at for at in boundaries if at < offset)
        above = min(at for at in boundaries if at > offset)
        message = refusal(encoded, offset, WIDE).message
        assert f"starts at {below} and the next one at {above}" in message


@given(data=ANY_BYTES, length=st.integers(1, 3), replace=st.booleans(), start=st.integers(0, 64))
def test_a_narrow_window_moves_on_or_says_how_wide_it_must_be(
    data: bytes, length: int, start: int, *, replace: bool
) -> None:
    start = min(start, len(data))
    try:
        step = window(data, start, length, replace=replace)
    except CommandError as error:
        if needed := re.search(r"needs a window of (\d)", error.message):
            wide_enough = int(needed.group(1))
            assert wide_enough > length
            step = window(data, start, wide_enough, replace=replace)
            assert step.next_offset == start + wide_enough
            assert len(step.text) == 1
    else:
        assert step.next_offset > start or start == len(data)
