"""Listing folders: what is granted and no more, in order, page by page."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.errors import CommandError, JobError
from cuttlebone.files import Grants
from cuttlebone.files.listing import FOLDER_ENTRIES_MAX, FolderEntry, Listing
from cuttlebone.files.opening import PathOpener
from cuttlebone.files.patterns import Wildcards
from cuttlebone_abi import ErrorCode
from files.places import Place, descriptors_open
from stopping import StoppedAfter


def listing(
    grants: Grants,
    path: str,
    *,
    after: str | None = None,
    entries_max: int = 100,
    check_wanted: Callable[[], None] = lambda: None,
) -> Listing:
    return grants.list_folder(path, after=after, entries_max=entries_max, check_wanted=check_wanted)


def names(grants: Grants, path: str) -> list[str]:
    return [entry.name for entry in listing(grants, path).entries]


def refused(grants: Grants, path: str) -> CommandError:
    with pytest.raises(CommandError) as refusal:
        listing(grants, path)
    return refusal.value


def test_a_granted_folder_lists_its_files_and_folders(place: Place, opener: PathOpener) -> None:
    (place.docs / ".hidden").touch()
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert listing(grants, "docs") == Listing(
            (
                FolderEntry(".hidden", is_folder=False, len=0),
                FolderEntry("a.txt", is_folder=False, len=6),
                FolderEntry("sub", is_folder=True, len=0),
            ),
            more=False,
        )
        assert names(grants, "docs/sub") == ["b.txt"]
        assert names(grants, f"{place.docs}/./sub/..") == [".hidden", "a.txt", "sub"]


def test_names_are_sorted_by_their_bytes(place: Place) -> None:
    for name in ("Z", "a", "é", "\U0001f600", "\uffee"):
        (place.docs / "sub" / name).touch()
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        assert names(grants, "docs/sub") == ["Z", "a", "b.txt", "é", "\uffee", "\U0001f600"]


def test_pages_together_are_the_whole_folder(place: Place) -> None:
    for number in range(25):
        (place.docs / "sub" / f"{number:02}").touch()
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        walked: list[str] = []
        more = True
        while more:
            page = listing(grants, "docs/sub", after=walked[-1] if walked else None, entries_max=4)
            walked += [entry.name for entry in page.entries]
            more = page.more

        assert walked == names(grants, "docs/sub")
        assert len(walked) == 26


def test_a_page_that_ends_with_the_folder_has_no_more(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        assert listing(grants, "docs", entries_max=2).more is False
        assert listing(grants, "docs", entries_max=1).more is True
        assert listing(grants, "docs", after="zzz") == Listing((), more=False)


@pytest.mark.parametrize(
    ("patterns", "path", "found"),
    [
        (["./docs/*.txt"], "docs", ["a.txt"]),
        (["./docs/*"], "docs", ["a.txt"]),
        (["./docs/*/*"], "docs", ["sub"]),
        (["./docs/**"], "docs", ["a.txt", "sub"]),
        (["./docs/**/b*"], "docs", ["sub"]),
        (["./docs/s*/**/*.md"], "docs", ["sub"]),
        (["./docs/*.md", "./docs/sub"], "docs", ["sub"]),
        (["./docs/*.md", "./docs/a.txt", "./docs/sub/b.txt"], "docs", ["a.txt"]),
        (["./docs/*.txt", "./docs/*/b.txt"], "docs", ["a.txt", "sub"]),
        (["./docs/**"], "docs/sub", ["b.txt"]),
        (["./docs/*/*.md"], "docs/sub", []),
    ],
)
def test_patterns_decide_over_each_entry(
    place: Place, opener: PathOpener, patterns: Sequence[str], path: str, found: Sequence[str]
) -> None:
    (place.docs / ".git").mkdir()
    (place.docs / ".git" / "b.txt").touch()
    with Grants.resolve(place.spec, patterns, opener=opener) as grants:
        assert names(grants, path) == found


@pytest.mark.parametrize(
    ("patterns", "path"),
    [
        (["./docs"], "."),
        (["./docs"], ".."),
        (["./docs"], "docsother"),
        (["./docs/a.txt"], "docs"),
        (["./docs/a.txt"], "docs/a.txt"),
        (["./docs/*.txt"], "docs/sub"),
        (["./docs/**"], "docs/.git"),
        ([], "docs"),
    ],
)
def test_a_folder_that_is_not_granted_is_denied_whether_it_exists_or_not(
    place: Place, patterns: Sequence[str], path: str
) -> None:
    with Grants.resolve(place.spec, patterns) as grants:
        assert refused(grants, path).code is ErrorCode.CAPABILITY_DENIED


def test_what_is_no_folder_is_denied_and_what_is_missing_is_not_found(
    place: Place, opener: PathOpener
) -> None:
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert "is no folder" in refused(grants, "docs/a.txt").message
        assert refused(grants, "docs/none").code is ErrorCode.NOT_FOUND


def test_links_pipes_and_what_no_open_can_say_are_left_out(
    place: Place, strict_opener: PathOpener
) -> None:
    (place.docs / "out").symlink_to(place.secret)
    (place.docs / "away").symlink_to(place.secret.parent)
    (place.docs / "in").symlink_to("a.txt")
    os.mkfifo(place.docs / "pipe")
    (place.docs / "line\nbreak").touch()
    Path(os.fsdecode(os.fsencode(place.docs) + b"/\xff")).touch()
    with Grants.resolve(place.spec, ["./docs"], opener=strict_opener) as grants:
        assert names(grants, "docs") == ["a.txt", "sub"]
        assert refused(grants, "docs/away").code is ErrorCode.CAPABILITY_DENIED


def test_links_that_are_followed_are_listed_as_what_they_lead_to(place: Place) -> None:
    (place.docs / "out").symlink_to(place.secret)
    (place.docs / "in").symlink_to("a.txt")
    (place.docs / "below").symlink_to("sub")
    with Grants.resolve(place.spec, ["./docs"], follow_symlinks=True) as grants:
        listed = {entry.name: entry.is_folder for entry in listing(grants, "docs").entries}
        assert listed == {"a.txt": False, "below": True, "in": False, "sub": True}


def test_every_listed_file_can_be_opened(place: Place, opener: PathOpener) -> None:
    with Grants.resolve(place.spec, ["./docs/**"], opener=opener) as grants:
        for entry in listing(grants, "docs").entries:
            if not entry.is_folder:
                grants.open(f"docs/{entry.name}").close()


def test_a_folder_with_too_many_names_is_refused(place: Place) -> None:
    crowd = place.docs / "crowd"
    crowd.mkdir()
    for number in range(FOLDER_ENTRIES_MAX + 1):
        # Links cost less than files, and a file may have only so many.
        if number % 50_000 == 0:
            (source := crowd / str(number)).touch()
        else:
            (crowd / str(number)).hardlink_to(source)
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        refusal = refused(grants, "docs/crowd")
        assert refusal.code is ErrorCode.LIMIT_EXCEEDED
        assert str(FOLDER_ENTRIES_MAX) in refusal.message

        (crowd / "1").unlink()
        assert listing(grants, "docs/crowd", entries_max=3).more is True


def test_no_listing_leaves_a_descriptor_open(place: Place, opener: PathOpener) -> None:
    (place.docs / "out").symlink_to(place.secret)
    with Grants.resolve(place.spec, ["./docs", "./docs/**"], opener=opener) as grants:
        before = descriptors_open()
        listing(grants, "docs")
        refused(grants, "docs/a.txt")
        refused(grants, "docs/none")

        assert descriptors_open() == before


def test_withdrawn_grants_list_nothing(place: Place) -> None:
    grants = Grants.resolve(place.spec, ["./docs"])
    grants.close()

    assert refused(grants, "docs").code is ErrorCode.CAPABILITY_DENIED


parts = st.lists(st.sampled_from(["*", "**", "a", "a*", ".*", "b"]), min_size=1, max_size=4)
paths = st.lists(st.sampled_from(["a", "ab", "b", ".c", "d"]), max_size=4)


@given(parts=parts, folder=paths, rest=paths.filter(bool))
def test_every_folder_on_the_way_to_a_granted_file_leads_to_it(
    parts: list[str], folder: list[str], rest: list[str]
) -> None:
    pattern = Wildcards.compile(tuple(parts))
    granted = pattern.locate((*folder, *rest)) is not None

    assert pattern.leads_to(tuple(folder)) or not granted


@given(parts=parts, folder=paths)
def test_a_folder_that_leads_somewhere_can_hold_a_granted_file(
    parts: list[str], folder: list[str]
) -> None:
    pattern = Wildcards.compile(tuple(parts))
    names = ("a", "b", "ab", ".c")
    below = [(one, *more) for one in names for more in [(), *((two,) for two in names)]]
    below += [(*some, last) for some in below if len(some) == 2 for last in names]
    below += [(*some, last) for some in below if len(some) == 3 for last in names]

    reachable = any(pattern.locate((*folder, *rest)) is not None for rest in below)
    assert pattern.leads_to(tuple(folder)) == reachable


@pytest.mark.parametrize("looks", [0, 7, 29])
def test_a_long_folder_is_left_as_soon_as_nobody_wants_it(place: Place, looks: int) -> None:
    for number in range(20):
        (place.docs / f"{number:02}.txt").touch()
    stopped = StoppedAfter(looks)
    before = descriptors_open()
    with Grants.resolve(place.spec, ["./docs"]) as grants, pytest.raises(JobError):
        listing(grants, "docs", check_wanted=stopped)
    assert stopped.asked == looks + 1
    assert descriptors_open() == before
