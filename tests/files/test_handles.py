"""The handle table: what a job opens, reads and closes."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.files import Grants, HandleTable, OpenedFile, Window
from cuttlebone_abi import BinaryKind, DocumentKind, ErrorCode, FileKind, ImageKind, TextKind
from files.places import Place, descriptors_open

HANDLES_MAX = 3
WINDOW_BYTES_MAX = 16


@pytest.fixture
def table(place: Place) -> Iterator[HandleTable]:
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        table = HandleTable(grants, handles_max=HANDLES_MAX, window_bytes_max=WINDOW_BYTES_MAX)
        yield table
        table.close_all()


def refused(act: Callable[[], object]) -> CommandError:
    with pytest.raises(CommandError) as error:
        act()
    return error.value


def test_an_opened_file_has_a_handle_its_length_in_bytes_and_its_kind(
    place: Place, table: HandleTable
) -> None:
    (place.docs / "euro").write_text("€€")
    assert table.open("docs/euro") == OpenedFile(1, 6, TextKind())


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", TextKind()),
        (b"a" * 4095 + "€".encode() + b"\xff" * 9, TextKind()),
        (b"\xff" + b"a" * 5000, BinaryKind()),
        (b"\x89PNG\r\n\x1a\n", ImageKind(format="png")),
        (b"%PDF-1.4", DocumentKind()),
    ],
)
def test_the_kind_is_told_from_the_first_4096_bytes(
    place: Place, table: HandleTable, head: bytes, kind: FileKind
) -> None:
    (place.docs / "file").write_bytes(head)
    assert table.open("docs/file").kind == kind


def test_handles_count_from_1_and_are_never_used_again(table: HandleTable) -> None:
    first = table.open("docs/a.txt").handle
    table.close(first)
    second = table.open("docs/a.txt").handle
    refused(lambda: table.open("docs/missing"))
    third = table.open("docs/a.txt").handle
    assert [first, second, third] == [1, 2, 3]


@pytest.mark.parametrize("handle", [0, 1, 2, (1 << 32) - 1])
def test_a_handle_that_is_closed_or_was_never_given_is_denied(
    table: HandleTable, handle: int
) -> None:
    table.close(table.open("docs/a.txt").handle)
    for act in (
        lambda: table.slice(handle, 0, 9, replace_invalid=False),
        lambda: table.slice_bytes(handle, 0, 9),
        lambda: table.close(handle),
    ):
        error = refused(act)
        assert error.code is ErrorCode.CAPABILITY_DENIED
        assert f"handle {handle} " in error.message


def test_a_handle_means_nothing_in_another_job(place: Place) -> None:
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        one = HandleTable(grants, handles_max=1, window_bytes_max=9)
        other = HandleTable(grants, handles_max=1, window_bytes_max=9)
        handle = one.open("docs/a.txt").handle
        error = refused(lambda: other.slice(handle, 0, 9, replace_invalid=False))
        assert error.code is ErrorCode.CAPABILITY_DENIED
        one.close_all()


def test_one_file_more_than_allowed_is_refused_until_one_is_closed(table: HandleTable) -> None:
    for _ in range(HANDLES_MAX):
        table.open("docs/a.txt")
    error = refused(lambda: table.open("docs/a.txt"))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert f"handles is limited to {HANDLES_MAX}" in error.message
    table.close(1)
    assert table.open("docs/a.txt").handle == HANDLES_MAX + 1


def test_a_slice_over_the_largest_window_is_refused(place: Place, table: HandleTable) -> None:
    (place.docs / "long").write_text("x" * 100)
    handle = table.open("docs/long").handle
    error = refused(lambda: table.slice(handle, 0, 1 << 63, replace_invalid=False))

    assert (error.code, error.message[:13]) == (ErrorCode.LIMIT_EXCEEDED, "window_bytes:")
    rest = table.slice(handle, 100 - WINDOW_BYTES_MAX, 1 << 63, replace_invalid=False)
    assert rest == Window("x" * WINDOW_BYTES_MAX, 100)


def test_a_walk_by_slices_gives_the_file_as_it_is(place: Place, table: HandleTable) -> None:
    text = "\ufeffline\r\n größe €\n" * 50
    (place.docs / "long").write_bytes(text.encode())
    file, walked, offset = table.open("docs/long"), "", 0
    while offset < file.len:
        window = table.slice(file.handle, offset, 7, replace_invalid=False)
        walked += window.text
        offset = window.next_offset
    assert walked == text


def test_invalid_bytes_are_refused_or_replaced_as_the_guest_asks(
    place: Place, table: HandleTable
) -> None:
    (place.docs / "mixed").write_bytes(b"\xffok")
    handle = table.open("docs/mixed").handle
    error = refused(lambda: table.slice(handle, 0, 9, replace_invalid=False))
    assert error.code is ErrorCode.NOT_TEXT
    assert table.slice(handle, 0, 9, replace_invalid=True) == Window("\ufffdok", 3)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def truncate(path: Path) -> None:
    os.truncate(path, 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"P")
    # Explicit, since two writes within one tick of a coarse clock may have one time.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [append, truncate, empty, overwrite])
@pytest.mark.parametrize(("offset", "length"), [(0, 4), (0, 0), (5, 1), (6, 4)])
def test_a_file_that_changed_since_it_was_opened_is_not_read_on(
    place: Place, table: HandleTable, change: Callable[[Path], None], offset: int, length: int
) -> None:
    handle = table.open("docs/a.txt").handle
    change(place.docs / "a.txt")
    error = refused(lambda: table.slice(handle, offset, length, replace_invalid=False))
    assert error.code is ErrorCode.INPUT_CHANGED
    assert "'docs/a.txt'" in error.message


def test_a_file_opened_again_after_a_change_is_read_as_it_is_now(
    place: Place, table: HandleTable
) -> None:
    table.open("docs/a.txt")
    append(place.docs / "a.txt")
    file = table.open("docs/a.txt")
    assert table.slice(file.handle, 0, 16, replace_invalid=False) == Window("publicmore", 10)


def test_a_file_that_was_removed_or_replaced_by_renaming_is_read_as_it_was(
    place: Place, table: HandleTable
) -> None:
    handle = table.open("docs/a.txt").handle
    (place.docs / "new").write_text("another")
    (place.docs / "new").rename(place.docs / "a.txt")
    assert table.slice(handle, 0, 16, replace_invalid=False) == Window("public", 6)


def test_a_file_of_length_0_that_the_kernel_makes_up_is_empty(place: Place) -> None:
    with Grants.resolve(place.spec, ["/proc/version"]) as grants:
        table = HandleTable(grants, handles_max=1, window_bytes_max=9)
        file = table.open("/proc/version")
        assert (file.len, file.kind) == (0, TextKind())
        table.close_all()


def test_a_file_shorter_than_the_kernel_says_is_refused_and_closed() -> None:
    made_up = Path("/sys/kernel/uevent_seqnum")
    if not made_up.exists():
        pytest.skip("this kernel has no such file")
    with Grants.resolve(Path("/"), [str(made_up)]) as grants:
        before = descriptors_open()
        table = HandleTable(grants, handles_max=1, window_bytes_max=9)
        error = refused(lambda: table.open(str(made_up)))
        assert error.code is ErrorCode.INPUT_CHANGED
        assert "it ends before byte" in error.message
        assert descriptors_open() == before


def test_a_file_may_be_larger_than_4_gib(place: Place, table: HandleTable) -> None:
    size = (5 << 30) + 3
    os.truncate(place.docs / "a.txt", size)
    file = table.open("docs/a.txt")
    assert file.len == size
    assert table.slice(file.handle, size - 3, 9, replace_invalid=False) == Window("\0\0\0", size)


def test_closing_all_leaves_no_descriptor_open_and_may_be_done_twice(table: HandleTable) -> None:
    before = descriptors_open()
    for _ in range(HANDLES_MAX):
        table.open("docs/a.txt")
    assert len(descriptors_open()) == len(before) + HANDLES_MAX
    table.close_all()
    table.close_all()
    assert descriptors_open() == before


def test_bytes_are_read_as_they_are_whatever_they_are(place: Place, table: HandleTable) -> None:
    (place.docs / "raw").write_bytes(b"\xff\0\x80abc")
    handle = table.open("docs/raw").handle

    assert table.slice_bytes(handle, 0, 3) == b"\xff\0\x80"
    assert table.slice_bytes(handle, 2, 99) == b"\x80abc"
    assert table.slice_bytes(handle, 6, 99) == b""
    assert table.slice_bytes(handle, 3, 0) == b""


def test_a_window_of_bytes_over_the_widest_is_refused(place: Place, table: HandleTable) -> None:
    (place.docs / "long").write_bytes(b"x" * 100)
    handle = table.open("docs/long").handle

    error = refused(lambda: table.slice_bytes(handle, 0, WINDOW_BYTES_MAX + 1))

    assert (error.code, error.message[:13]) == (ErrorCode.LIMIT_EXCEEDED, "window_bytes:")
    assert len(table.slice_bytes(handle, 0, WINDOW_BYTES_MAX)) == WINDOW_BYTES_MAX


def test_bytes_past_the_end_are_an_invalid_argument(table: HandleTable) -> None:
    handle = table.open("docs/a.txt").handle

    error = refused(lambda: table.slice_bytes(handle, 7, 1))

    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "offset 7 lies past the end" in error.message


@pytest.mark.parametrize("offset", [0, 6])
def test_bytes_of_a_file_that_changed_are_refused(
    place: Place, table: HandleTable, offset: int
) -> None:
    handle = table.open("docs/a.txt").handle
    (place.docs / "a.txt").write_bytes(b"something longer")

    assert refused(lambda: table.slice_bytes(handle, offset, 6)).code is ErrorCode.INPUT_CHANGED


def test_the_table_lists_what_its_grants_allow(table: HandleTable) -> None:
    listing = table.list_folder("docs", after=None, entries_max=1, check_wanted=lambda: None)

    assert [entry.name for entry in listing.entries] == ["a.txt"]
    assert listing.more
