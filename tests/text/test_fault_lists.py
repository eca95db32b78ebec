"""Lists of faults show the first ones of a kind and count the others."""

import pytest

from cuttlebone.text.fault_lists import (
    FAULTS_SHOWN_MAX,
    POINTER_CHARS_MAX,
    cut_pointer,
    first_faults,
    lines_of,
)


@pytest.mark.parametrize("count", [0, 1, FAULTS_SHOWN_MAX, FAULTS_SHOWN_MAX + 1, 1_000])
def test_the_first_faults_are_kept_and_the_others_counted(count: int) -> None:
    shown, more = first_faults(iter(range(count)))

    assert shown == list(range(min(count, FAULTS_SHOWN_MAX)))
    assert len(shown) + more == count


def test_lines_say_how_many_more_there_are() -> None:
    assert lines_of(["a", "b"]) == "a\nb"
    assert lines_of(map(str, range(20))).splitlines()[-2:] == ["15", "and 4 more"]


def test_a_pointer_is_cut_only_if_somebody_made_it_long() -> None:
    assert cut_pointer("/a/b") == "/a/b"
    long = cut_pointer("/" + "k" * (64 << 10))
    assert (len(long), long[-1]) == (POINTER_CHARS_MAX, "…")
