"""What a spec grants: roots, names, descriptions, and what is told of a bad pattern."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.errors import OperatorError
from cuttlebone.files import Grants
from cuttlebone.files.grants import PATTERNS_MAX
from cuttlebone.files.opening import open_by_walking
from cuttlebone_abi import ErrorCode
from files.places import (
    PUBLIC,
    Place,
    code_of_opening,
    content,
    descriptors_open,
    refusal_of_opening,
)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("./docs", "docs/a.txt"),
        ("./docs", "./docs/../docs//sub/b.txt"),
        ("docs/", "docs/sub/b.txt"),
        (".", "docs/a.txt"),
        ("./docs/**/", "docs/sub/b.txt"),
        ("./docs/a.txt", "docs/a.txt"),
        ("./docs/*.txt", "docs/a.txt"),
        ("./docs/**/*.txt", "docs/a.txt"),
        ("./docs/**/*.txt", "docs/sub/b.txt"),
        ("./*/a.txt", "docs/a.txt"),
        ("../spec/docs", "docs/a.txt"),
        ("../spec/docs", "../spec/docs/a.txt"),
    ],
)
def test_a_granted_file_opens(place: Place, pattern: str, path: str) -> None:
    with Grants.resolve(place.spec, [pattern]) as grants:
        assert content(grants, path) == PUBLIC


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("./docs/sub", "docs/a.txt"),
        ("./docs/*.txt", "docs/sub/b.txt"),
        ("./docs/*.md", "docs/a.txt"),
        ("./docs/a.txt", "docs/a.txt/b"),
        ("./docs/a.txt", "docs/sub/b.txt"),
        ("./docs", "../outside/secret.txt"),
        ("./docs", "docs/../../outside/secret.txt"),
        ("./docs", "docs/sub/../../../outside/secret.txt"),
        ("./docs", "docsx/a.txt"),
        ("./docs", "DOCS/a.txt"),
        ("./docs", "/etc/passwd"),
        ("./docs", "/proc/self/root/etc/passwd"),
        ("./docs", "/proc/self/environ"),
        ("./docs", "/"),
        ("./docs", "."),
    ],
)
def test_what_is_not_granted_is_denied_whether_it_is_there_or_not(
    place: Place, pattern: str, path: str
) -> None:
    with Grants.resolve(place.spec, [pattern]) as grants:
        assert code_of_opening(grants, path) is ErrorCode.CAPABILITY_DENIED
        assert code_of_opening(grants, path + ".missing") is ErrorCode.CAPABILITY_DENIED


@pytest.mark.parametrize("pattern", ["./docs", "./docs/a.txt", "./docs/*.txt"])
@pytest.mark.parametrize("end", ["/", "//", "/.", "/b/.."])
def test_a_file_is_not_opened_by_the_name_of_a_folder(place: Place, pattern: str, end: str) -> None:
    with Grants.resolve(place.spec, [pattern]) as grants:
        refused = refusal_of_opening(grants, f"docs/a.txt{end}")
    assert refused.code is ErrorCode.CAPABILITY_DENIED
    assert "names a folder" in refused.message


def test_a_path_that_is_not_granted_never_reaches_the_file_system(place: Place) -> None:
    def forbidden(_root_fd: int, relative: bytes) -> int:
        raise AssertionError(f"asked for {relative!r}")

    with Grants.resolve(place.spec, ["./docs"], opener=forbidden) as grants:
        assert code_of_opening(grants, str(place.secret)) is ErrorCode.CAPABILITY_DENIED
        assert code_of_opening(grants, "docs/a\nb") is ErrorCode.CAPABILITY_DENIED


def test_a_denial_names_the_patterns_of_the_spec(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs", "./docs/*.md"]) as grants:
        message = refusal_of_opening(grants, "../outside/secret.txt").message
    assert message == (
        "'../outside/secret.txt' is not granted; capabilities.read has ./docs, ./docs/*.md"
    )


def test_a_spec_without_patterns_grants_nothing_and_says_so(place: Place) -> None:
    with Grants.resolve(place.spec, []) as grants:
        assert "grants no files" in refusal_of_opening(grants, "docs/a.txt").message


def test_hidden_files_come_with_a_named_folder_but_not_with_a_wildcard(place: Place) -> None:
    (place.docs / ".env").write_bytes(PUBLIC)
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        assert content(grants, "docs/.env") == PUBLIC
    with Grants.resolve(place.spec, ["./docs/**", "./docs/*"]) as grants:
        assert code_of_opening(grants, "docs/.env") is ErrorCode.CAPABILITY_DENIED
    with Grants.resolve(place.spec, ["./docs/.*"]) as grants:
        assert content(grants, "docs/.env") == PUBLIC


def test_a_path_may_be_absolute_by_the_configured_and_by_the_real_root(place: Place) -> None:
    alias = place.spec.parent / "alias"
    alias.symlink_to(place.spec)
    with Grants.resolve(alias, ["./docs"]) as grants:
        for path in ("docs/a.txt", f"{alias}/docs/a.txt", f"{place.docs}/a.txt"):
            assert content(grants, path) == PUBLIC


def test_a_folder_of_a_spec_named_through_a_link_and_up_again_is_where_the_kernel_finds_it(
    place: Place,
) -> None:
    (place.secret.parent / "link").symlink_to(place.docs)
    with Grants.resolve(place.secret.parent / "link" / "..", ["./docs"]) as grants:
        assert content(grants, "docs/a.txt") == PUBLIC


def test_an_absolute_pattern_is_granted_as_it_stands(place: Place) -> None:
    with Grants.resolve(Path("/"), [str(place.docs)]) as grants:
        assert content(grants, f"{place.docs}/a.txt") == PUBLIC


def test_a_link_that_the_operator_names_is_followed_when_the_spec_is_loaded(place: Place) -> None:
    (place.spec / "folder").symlink_to(place.docs)
    (place.spec / "file").symlink_to(place.docs / "a.txt")
    with Grants.resolve(place.spec, ["./folder", "./file"]) as grants:
        (place.spec / "folder").unlink()
        (place.spec / "file").unlink()
        (place.spec / "folder").symlink_to(place.secret.parent)
        (place.spec / "file").symlink_to(place.secret)
        assert content(grants, "folder/a.txt") == PUBLIC
        assert content(grants, "file") == PUBLIC
        assert code_of_opening(grants, "folder/secret.txt") is ErrorCode.NOT_FOUND


def test_a_granted_file_may_be_replaced_by_renaming(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs/a.txt"]) as grants:
        (place.docs / "new").write_bytes(b"saved again")
        (place.docs / "new").rename(place.docs / "a.txt")
        assert content(grants, "docs/a.txt") == b"saved again"


def test_a_granted_folder_that_moves_is_still_the_one_that_was_granted(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        place.docs.rename(place.spec / "moved")
        place.docs.symlink_to(place.secret.parent)
        assert content(grants, "docs/a.txt") == PUBLIC


@pytest.mark.parametrize("path", ["docs/missing", "docs/no/such/folder", "docs/a.txt/below"])
def test_a_missing_file_below_a_granted_folder_is_not_found(place: Place, path: str) -> None:
    for opener in (None, open_by_walking):
        with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
            assert code_of_opening(grants, path) is ErrorCode.NOT_FOUND


def test_a_granted_file_that_was_removed_is_not_found(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs/a.txt"]) as grants:
        (place.docs / "a.txt").unlink()
        assert code_of_opening(grants, "docs/a.txt") is ErrorCode.NOT_FOUND


def test_nothing_is_not_found_once_the_granted_folder_itself_was_removed(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        shutil.rmtree(place.docs)
        refusal = refusal_of_opening(grants, "docs/a.txt")
    assert refusal.code is ErrorCode.CAPABILITY_DENIED
    assert "removed" in refusal.message


@pytest.mark.parametrize("patterns", [["./docs", "./docs/sub"], ["./docs/sub", "./docs"]])
def test_of_two_grants_that_cover_a_path_the_inner_is_tried_first_and_either_will_do(
    place: Place, patterns: list[str]
) -> None:
    with Grants.resolve(place.spec, patterns) as grants:
        (place.docs / "sub").rename(place.docs / "old")
        (place.docs / "sub").mkdir()
        (place.docs / "sub" / "b.txt").write_bytes(b"another b")
        (place.docs / "sub" / "new.txt").write_bytes(b"new")
        assert content(grants, "docs/sub/b.txt") == PUBLIC
        assert content(grants, "docs/sub/new.txt") == b"new"


def test_a_description_names_pattern_extent_and_real_root(place: Place) -> None:
    patterns = ["./docs", "./docs/a.txt", "./docs/**/*.txt"]
    with Grants.resolve(place.spec, patterns) as grants:
        assert grants.describe() == [
            f"./docs: everything below {place.docs}",
            f"./docs/a.txt: the file a.txt in {place.docs}",
            f"./docs/**/*.txt: what matches **/*.txt in {place.docs}",
        ]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("./missing", "No such file or directory"),
        ("./missing/**/*.txt", "No such file or directory"),
        ("./docs/a.txt/*.txt", "is not a folder"),
        ("./docs/a.txt/", "is not a folder"),
        ("./docs/a.txt/.", "is not a folder"),
        ("./docs/*.txt/", "what ends in `/` is a folder"),
        ("./docs/a.txt/b", "Not a directory"),
        ("/dev/null", "neither a folder nor a regular file"),
        ("./docs/**.txt", "whole component"),
        ("./*/../docs", "after a wildcard"),
        ("", "0 bytes"),
        ("a\x1b[2Jb", "control character"),
    ],
)
def test_a_pattern_that_cannot_be_granted_is_told_to_the_operator_and_leaves_nothing_open(
    place: Place, pattern: str, reason: str
) -> None:
    before = descriptors_open()
    with pytest.raises(OperatorError, match=reason) as refused:
        Grants.resolve(place.spec, ["./docs", pattern])
    assert str(refused.value).isprintable()
    assert pattern.replace("\x1b", "\\x1b") in str(refused.value)
    assert descriptors_open() == before


def test_a_spec_may_have_so_many_patterns_and_not_one_more(place: Place) -> None:
    Grants.resolve(place.spec, ["./docs"] * PATTERNS_MAX).close()
    with pytest.raises(OperatorError, match=f"257 patterns; at most {PATTERNS_MAX}"):
        Grants.resolve(place.spec, ["./docs"] * (PATTERNS_MAX + 1))


def test_after_closing_nothing_opens_and_no_descriptor_is_left(place: Place) -> None:
    before = descriptors_open()
    grants = Grants.resolve(place.spec, ["./docs", "./docs/a.txt"])
    grants.close()
    grants.close()
    assert "withdrawn" in refusal_of_opening(grants, "docs/a.txt").message
    assert descriptors_open() == before


def test_closing_during_an_open_leaves_its_root_open_until_it_is_done(place: Place) -> None:
    entered, closed = threading.Event(), threading.Event()
    roots: list[int] = []
    read: list[bytes] = []

    def waiting(root_fd: int, relative: bytes) -> int:
        roots.append(root_fd)
        entered.set()
        assert closed.wait(scaled(10))
        return open_by_walking(root_fd, relative)

    grants = Grants.resolve(place.spec, ["./docs"], opener=waiting)
    job = threading.Thread(target=lambda: read.append(content(grants, "docs/a.txt")))
    job.start()
    assert entered.wait(scaled(10))
    grants.close()
    closed.set()
    job.join(scaled(10))
    assert read == [PUBLIC]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(roots[0])
