"""The rules for a path as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.errors import CommandError
from cuttlebone.files.paths import (
    COMPONENT_BYTES_MAX,
    PATH_BYTES_MAX,
    names_folder,
    parse_path,
    resolve,
)
from cuttlebone_abi import ErrorCode

FOLDER = ("srv", "spec")


@pytest.mark.parametrize(
    ("path", "components"),
    [
        ("a", ("srv", "spec", "a")),
        ("./a//b/.", ("srv", "spec", "a", "b")),
        ("a/../b", ("srv", "spec", "b")),
        ("../a", ("srv", "a")),
        ("../../../../a", ("a",)),
        ("/a/b", ("a", "b")),
        ("/../a", ("a",)),
        (".", ("srv", "spec")),
        ("/", ()),
        ("Ä", ("srv", "spec", "Ä")),
        ("A\u0308", ("srv", "spec", "A\u0308")),
        ("...", ("srv", "spec", "...")),
    ],
)
def test_a_path_is_resolved_by_its_text(path: str, components: tuple[str, ...]) -> None:
    assert parse_path(path, FOLDER) == components


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "it has 0 bytes"),
        ("a/" * (PATH_BYTES_MAX // 2) + "a", "it has 4097 bytes"),
        ("€" * (PATH_BYTES_MAX // 3 + 1), "it has 4098 bytes"),
        ("a/" + "b" * (COMPONENT_BYTES_MAX + 1), "a component has 256 bytes"),
        ("é" * 128, "a component has 256 bytes"),
        ("a\x00b", "U+0000"),
        ("a\nb", "U+000A"),
        ("\x1b[2J", "U+001B"),
        ("a\x7f", "U+007F"),
        ("a\x9b", "U+009B"),
        ("a\ud800", "not valid UTF-8"),
    ],
)
def test_an_unusable_path_is_denied_and_its_message_is_safe_to_print(
    path: str, reason: str
) -> None:
    with pytest.raises(CommandError) as refused:
        parse_path(path, FOLDER)
    assert refused.value.code is ErrorCode.CAPABILITY_DENIED
    assert reason in refused.value.message
    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 400


def test_a_path_and_a_component_of_just_the_allowed_length_pass() -> None:
    longest = "b" * COMPONENT_BYTES_MAX
    path = "/".join(["a", *[longest] * 15, "c" * 254])
    assert len(path) == PATH_BYTES_MAX
    assert parse_path(path, FOLDER)[-2] == longest


@given(st.lists(st.sampled_from(["a", "b", ".", "..", ""]), min_size=1).map("/".join))
def test_no_path_keeps_a_component_that_could_lead_up(path: str) -> None:
    assert not {"", ".", ".."} & set(resolve(path, FOLDER))


@pytest.mark.parametrize(
    ("path", "says_folder"),
    [
        ("a.txt/", True),
        ("a.txt//", True),
        ("a.txt/.", True),
        ("a/b/..", True),
        (".", True),
        ("/", True),
        ("a.txt", False),
        ("a/./b", False),
        (".hidden", False),
        ("a...", False),
    ],
)
def test_a_path_says_by_its_end_that_a_folder_is_meant(path: str, *, says_folder: bool) -> None:
    assert names_folder(path) is says_folder
