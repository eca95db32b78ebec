"""The text of a generation is exact, wherever its bytes are cut into tokens."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.inference.answer_text import AnswerText, beginning_of_any, first_match
from cuttlebone_abi import Finish

SNOWMAN = "☃"
STOPS = st.lists(st.text("ab☃", min_size=1, max_size=4), max_size=4)


def said(tokens: list[bytes], *, stop: tuple[str, ...] = (), tokens_max: int = 1000) -> AnswerText:
    """Feed tokens until the answer is finished, then the end."""
    answer = AnswerText(tokens_max, stop)
    for token in tokens:
        if answer.finish is None:
            answer.add(token)
    if answer.finish is None:
        answer.end()
    return answer


@st.composite
def cut_bytes(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> list[bytes]:
    """Bytes, cut at any places."""
    whole = draw(data)
    cuts = sorted(draw(st.sets(st.integers(0, len(whole)))) | {0, len(whole)})
    return [whole[start:end] for start, end in pairwise(cuts)]


TEXTS = st.text("ab☃ é𝄞").map(str.encode)


@given(cut_bytes(TEXTS | st.binary()), STOPS)
def test_the_text_is_the_same_wherever_the_bytes_are_cut(
    tokens: list[bytes], stop: list[str]
) -> None:
    whole = b"".join(tokens)
    singles = [bytes([byte]) for byte in whole]
    answers = [said(cut, stop=tuple(stop)) for cut in (tokens, singles, [whole])]
    assert len({(answer.text, answer.finish) for answer in answers}) == 1


@given(cut_bytes(TEXTS), STOPS)
def test_no_stop_string_is_in_the_text_and_the_text_ends_before_the_first(
    tokens: list[bytes], stop: list[str]
) -> None:
    whole = b"".join(tokens).decode()
    answer = said(tokens, stop=tuple(stop))
    assert whole.startswith(answer.text)
    assert not any(string in answer.text for string in stop)
    if answer.finish is Finish.STOP:
        assert any(whole[len(answer.text) :].startswith(string) for string in stop)
    else:
        assert answer.text == whole


@given(cut_bytes(TEXTS | st.binary()), STOPS)
def test_the_pieces_make_up_the_text_and_are_whole_characters(
    tokens: list[bytes], stop: list[str]
) -> None:
    answer = AnswerText(1000, tuple(stop))
    pieces = [answer.add(token) for token in tokens if answer.finish is None]
    if answer.finish is None:
        pieces.append(answer.end())
    assert "".join(pieces) == answer.text
    assert all(piece.encode().decode() == piece for piece in pieces)


def test_bytes_of_a_character_are_held_until_it_is_whole() -> None:
    answer = AnswerText(10)
    first, second, third = (bytes([byte]) for byte in SNOWMAN.encode())
    assert [answer.add(first), answer.add(second), answer.add(third)] == ["", "", SNOWMAN]


def test_an_unfinished_character_at_the_end_is_left_out() -> None:
    assert said([b"so ", SNOWMAN.encode()[:2]]).text == "so "


def test_a_byte_that_is_no_utf8_becomes_a_replacement_character() -> None:
    assert said([b"a\xffb"]).text == "a�b"


def test_a_possible_stop_string_is_held_and_given_back_when_it_is_none() -> None:
    answer = AnswerText(10, ("END",))
    assert [answer.add(b"the E"), answer.add(b"N"), answer.add(b"TRY")] == ["the ", "", "ENTRY"]


def test_what_was_held_at_the_end_of_the_text_belongs_to_it() -> None:
    answer = AnswerText(10, ("END",))
    answer.add(b"the EN")
    assert answer.end() == "EN"
    assert (answer.text, answer.finish) == ("the EN", Finish.EOS)


def test_the_stop_string_that_is_complete_first_counts() -> None:
    answer = said([b"xabcd"], stop=("abcd", "bc"))
    assert (answer.text, answer.finish) == ("xa", Finish.STOP)


def test_of_stop_strings_that_end_together_the_longest_counts() -> None:
    assert said([b"xabc"], stop=("bc", "abc")).text == "x"


def test_the_last_allowed_token_ends_the_text_and_gives_back_what_was_held() -> None:
    answer = AnswerText(2, ("END",))
    assert [answer.add(b"a"), answer.add(b"EN")] == ["a", "EN"]
    assert answer.finish is Finish.LENGTH


def test_an_end_token_in_the_last_place_is_an_end_and_no_cut() -> None:
    answer = AnswerText(1)
    answer.end()
    assert (answer.finish, answer.tokens_out, answer.text) == (Finish.EOS, 1, "")


def test_the_guest_cuts_after_the_piece_it_has_seen_whatever_came_meanwhile() -> None:
    answer = AnswerText(10)
    for token in (b"one", b" two", b" three"):
        answer.add(token)
    answer.cut_after(2)
    assert (answer.text, answer.finish, answer.tokens_out) == ("one two", Finish.GUEST, 3)


@pytest.mark.parametrize(
    ("text", "stop", "expected"), [("ab", ["abc"], 2), ("ab", ["bc", "abz"], 2), ("ab", ["x"], 0)]
)
def test_the_longest_beginning_of_any_stop_string_is_held(
    text: str, stop: list[str], expected: int
) -> None:
    assert beginning_of_any(text, stop) == expected


def test_without_stop_strings_nothing_matches() -> None:
    assert first_match("anything", ()) is None
