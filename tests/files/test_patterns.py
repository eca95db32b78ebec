"""What a pattern of `capabilities.read` allows."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.files.paths import UnusablePath
from cuttlebone.files.patterns import Everything, OneFile, Pattern, Wildcards, parse_pattern

FOLDER = ("srv", "spec")


def matches(pattern: str, path: str) -> bool:
    return Wildcards.compile(tuple(pattern.split("/"))).locate(tuple(path.split("/"))) is not None


@pytest.mark.parametrize(
    ("text", "literal", "wildcards"),
    [
        ("./docs", ("srv", "spec", "docs"), ()),
        ("docs/", ("srv", "spec", "docs"), ()),
        (".", ("srv", "spec"), ()),
        ("../other/./x", ("srv", "other", "x"), ()),
        ("/data", ("data",), ()),
        ("/", (), ()),
        ("./reports/**/*.txt", ("srv", "spec", "reports"), ("**", "*.txt")),
        ("**", ("srv", "spec"), ("**",)),
        ("/**/*.md", (), ("**", "*.md")),
        ("a?/./b//c", ("srv", "spec"), ("a?", "b", "c")),
        ("[ab]/c", ("srv", "spec"), ("[ab]", "c")),
    ],
)
def test_a_pattern_is_a_literal_path_and_the_rest_from_its_first_wildcard(
    text: str, literal: tuple[str, ...], wildcards: tuple[str, ...]
) -> None:
    assert parse_pattern(text, FOLDER) == Pattern(literal, wildcards)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "0 bytes"),
        ("a\x00", "control character"),
        ("x" * 256, "256 bytes"),
        ("*/../a", "after a wildcard"),
        ("a/**.txt", "whole component"),
        ("***", "whole component"),
    ],
)
def test_a_pattern_without_a_clear_meaning_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnusablePath, match=reason):
        parse_pattern(text, FOLDER)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", "a"),
        ("*.txt", "a.txt"),
        ("a*c", "ac"),
        ("a?c", "a€c"),
        ("[a-c].txt", "b.txt"),
        ("[!a].txt", "b.txt"),
        ("[[]x", "[x"),
        ("**", "a"),
        ("**", "a/b/c"),
        ("**/*.txt", "a.txt"),
        ("**/*.txt", "a/b/c.txt"),
        ("a/**/z", "a/z"),
        ("a/**/z", "a/b/c/z"),
        ("**/b/**", "a/b/c"),
        ("**/**", "a"),
        (".*", ".env"),
        (".git/*", ".git/config"),
        ("**/.env", "a/.env"),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", "a/b"),
        ("*.txt", "a/b.txt"),
        ("a?b", "a/b"),
        ("a[/]b", "a/b"),
        ("*/*", "a"),
        ("*", "a.TXT/x"),
        ("*.txt", "a.TXT"),
        ("*.txt", "a.txt\n"),
        ("Ä", "A\u0308"),
        ("**/*.txt", "a/b.md"),
        ("a/**/z", "a/b"),
        ("*", ".env"),
        ("?env", ".env"),
        ("[.]env", ".env"),
        ("**", ".git/config"),
        ("**", "a/.env"),
        ("**/*.txt", "a/.hidden/b.txt"),
        ("*/config", ".git/config"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


def test_a_named_folder_has_everything_below_it_and_a_named_file_itself_alone() -> None:
    assert Everything().locate((".git", "config")) == (".git", "config")
    assert OneFile("a.txt").locate(()) == ("a.txt",)
    assert OneFile("a.txt").locate(("b",)) is None


def test_patterns_made_to_backtrack_are_answered_all_the_same() -> None:
    assert not matches("/".join(["**", "a"] * 40 + ["b"]), "/".join("a" * 2000))
    assert not matches("*a" * 60 + "b", "a" * 255)


NAMES = st.lists(st.sampled_from(["a", "b", ".c"]), min_size=1, max_size=6).map(tuple)
PARTS = st.lists(st.sampled_from(["**", "*", "a", ".*"]), min_size=1, max_size=6).map(tuple)


@given(parts=PARTS, names=NAMES)
def test_matching_agrees_with_its_definition(
    parts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    one = {"*": {"a", "b"}, "a": {"a"}, ".*": {".c"}}

    @cache
    def defined(part: int, name: int) -> bool:
        if part == len(parts):
            return name == len(names)
        if parts[part] == "**":
            skips_one = name < len(names) and names[name] != ".c" and defined(part, name + 1)
            return defined(part + 1, name) or skips_one
        return name < len(names) and names[name] in one[parts[part]] and defined(part + 1, name + 1)

    assert (Wildcards.compile(parts).locate(names) is not None) == defined(0, 0)
