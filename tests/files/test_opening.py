"""Opening below a root: no link, device or odd name leads out of it, whichever way it is opened."""

import errno
import os
import socket
from pathlib import Path

import pytest

from cuttlebone.files import Grants
from cuttlebone.files.opening import (
    TRIES_MAX,
    KernelOpener,
    PathOpener,
    Resolve,
    kernel_has_openat2,
    open_by_walking,
    openat2,
)
from cuttlebone.files.refusals import refusal
from cuttlebone_abi import ErrorCode
from files.places import (
    PUBLIC,
    Place,
    code_of_opening,
    content,
    descriptors_open,
    refusal_of_opening,
)

DENIED = ErrorCode.CAPABILITY_DENIED


def test_a_file_opens_at_any_depth(place: Place, opener: PathOpener) -> None:
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert content(grants, "docs/a.txt") == PUBLIC
        assert content(grants, "docs/sub/b.txt") == PUBLIC


def test_a_link_out_of_the_root_is_denied(place: Place, opener: PathOpener) -> None:
    (place.docs / "absolute").symlink_to(place.secret)
    (place.docs / "relative").symlink_to("../../outside/secret.txt")
    (place.docs / "folder").symlink_to(place.secret.parent)
    (place.docs / "up").symlink_to("..")
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        for path in ("absolute", "relative", "folder/secret.txt", "up/docs/a.txt"):
            assert code_of_opening(grants, f"docs/{path}") is DENIED


def test_a_link_that_stays_inside_is_denied_with_the_way_out(
    place: Place, strict_opener: PathOpener
) -> None:
    (place.docs / "file").symlink_to("a.txt")
    (place.docs / "folder").symlink_to("sub")
    with Grants.resolve(place.spec, ["./docs"], opener=strict_opener) as grants:
        for path in ("docs/file", "docs/folder/b.txt"):
            refused = refusal_of_opening(grants, path)
            assert refused.code is DENIED
            assert "follow_symlinks" in refused.message


def test_a_link_that_stays_inside_is_followed_if_the_spec_says_so(place: Place) -> None:
    (place.docs / "file").symlink_to("sub/../a.txt")
    (place.docs / "folder").symlink_to("sub")
    with Grants.resolve(place.spec, ["./docs"], follow_symlinks=True) as grants:
        assert content(grants, "docs/file") == PUBLIC
        assert content(grants, "docs/folder/b.txt") == PUBLIC


def test_links_in_a_circle_are_denied(place: Place, opener: PathOpener) -> None:
    (place.docs / "one").symlink_to("two")
    (place.docs / "two").symlink_to("one")
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert code_of_opening(grants, "docs/one") is DENIED


def test_a_link_to_nothing_is_denied_unless_links_are_followed(place: Place) -> None:
    (place.docs / "dangling").symlink_to("missing")
    with Grants.resolve(place.spec, ["./docs"]) as grants:
        assert code_of_opening(grants, "docs/dangling") is DENIED
    with Grants.resolve(place.spec, ["./docs"], follow_symlinks=True) as grants:
        assert code_of_opening(grants, "docs/dangling") is ErrorCode.NOT_FOUND


def test_magic_links_of_proc_are_denied_even_when_proc_is_granted(opener: PathOpener) -> None:
    opened = os.open("/etc/hostname", os.O_RDONLY)
    try:
        with Grants.resolve(Path("/proc/self"), ["."], opener=opener) as grants:
            for path in (f"fd/{opened}", "root/etc/hostname", "cwd/pyproject.toml", "exe"):
                assert code_of_opening(grants, path) is DENIED
    finally:
        os.close(opened)


def test_only_regular_files_open_and_a_pipe_does_not_wait_for_its_writer(
    place: Place, opener: PathOpener
) -> None:
    os.mkfifo(place.docs / "pipe")
    docs_fd = os.open(place.docs, os.O_PATH)  # the address of a socket has 108 bytes at most
    with (
        socket.socket(socket.AF_UNIX) as listener,
        Grants.resolve(place.spec, ["./docs", "/dev"], opener=opener) as grants,
    ):
        listener.bind(f"/proc/self/fd/{docs_fd}/socket")
        os.close(docs_fd)
        for path, kind in [
            ("docs/pipe", "a pipe"),
            ("docs/socket", "a socket"),
            ("docs/sub", "a folder"),
            ("docs", "a folder"),
            ("/dev/null", "a device"),
            ("/dev/zero", "a device"),
        ]:
            refused = refusal_of_opening(grants, path)
            assert refused.code is DENIED
            assert f"is {kind}," in refused.message


def test_another_file_system_below_the_root_is_denied(strict_opener: PathOpener) -> None:
    if not os.path.ismount("/proc"):
        pytest.skip("/proc is no mount here")
    with Grants.resolve(Path("/"), ["/"], opener=strict_opener) as grants:
        refused = refusal_of_opening(grants, "/proc/version")
    assert refused.code is DENIED
    assert "another file system" in refused.message


def test_a_name_too_long_for_the_kernel_is_not_found(place: Place, opener: PathOpener) -> None:
    with Grants.resolve(Path("/"), ["/"], opener=opener) as grants:
        path = "a/" * 2047 + "bc"
        assert len(path) == 4096
        assert code_of_opening(grants, path) is ErrorCode.NOT_FOUND
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert code_of_opening(grants, "docs/" + "n" * 255) is ErrorCode.NOT_FOUND


def test_neither_success_nor_refusal_leaves_a_descriptor_open(
    place: Place, opener: PathOpener
) -> None:
    (place.docs / "link").symlink_to(place.secret)
    os.mkfifo(place.docs / "pipe")
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        before = descriptors_open()
        for name in ("link", "pipe", "sub", "missing", "a.txt/b", "sub/missing", "link/below"):
            refusal_of_opening(grants, f"docs/{name}")
        content(grants, "docs/sub/b.txt")
        assert descriptors_open() == before


def test_opening_is_tried_again_when_a_rename_passes_by(place: Place) -> None:
    answers = [BlockingIOError(errno.EAGAIN, ""), InterruptedError(errno.EINTR, "")] * 3

    def interrupted(root_fd: int, relative: bytes, resolve: Resolve) -> int:
        if answers:
            raise answers.pop()
        return openat2(root_fd, relative, resolve)

    opener = KernelOpener(call=interrupted)
    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants:
        assert content(grants, "docs/a.txt") == PUBLIC


def test_opening_is_not_tried_for_ever(place: Place) -> None:
    tries: list[bytes] = []

    def never(_root_fd: int, relative: bytes, _resolve: Resolve) -> int:
        tries.append(relative)
        raise BlockingIOError(errno.EAGAIN, "")

    with Grants.resolve(place.spec, ["./docs"], opener=KernelOpener(call=never)) as grants:
        assert code_of_opening(grants, "docs/a.txt") is DENIED
    assert tries == [b"a.txt"] * TRIES_MAX


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_without_openat2_or_one_that_forbids_it_is_recognised(code: int) -> None:
    def refusing(_root_fd: int, _relative: bytes, _resolve: Resolve) -> int:
        raise OSError(code, os.strerror(code))

    assert not kernel_has_openat2(refusing)


def test_a_walk_follows_no_link_though_a_folder_becomes_one_after_the_root_was_opened(
    place: Place,
) -> None:
    with Grants.resolve(place.spec, ["./docs"], opener=open_by_walking) as grants:
        (place.docs / "sub").rename(place.docs / "aside")
        (place.docs / "sub").symlink_to(place.secret.parent)
        assert code_of_opening(grants, "docs/sub/secret.txt") is DENIED


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOENT, ErrorCode.NOT_FOUND),
        (errno.ENOTDIR, ErrorCode.NOT_FOUND),
        (errno.ENAMETOOLONG, ErrorCode.NOT_FOUND),
        (errno.ELOOP, DENIED),
        (errno.EXDEV, DENIED),
        (errno.EACCES, DENIED),
        (errno.EPERM, DENIED),
        (errno.EAGAIN, DENIED),
        (errno.EMFILE, ErrorCode.LIMIT_EXCEEDED),
        (errno.ENFILE, ErrorCode.LIMIT_EXCEEDED),
    ],
)
def test_what_the_kernel_says_becomes_a_code_of_the_contract(
    code: int, expected: ErrorCode
) -> None:
    assert refusal(OSError(code, os.strerror(code)), "x").code is expected


def test_a_broken_disk_is_no_answer_to_a_guest() -> None:
    with pytest.raises(OSError, match="Input/output error"):
        refusal(OSError(errno.EIO, os.strerror(errno.EIO)), "x")


def test_a_file_that_the_host_may_not_read_is_denied(place: Place) -> None:
    def unreadable(_root_fd: int, _relative: bytes) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with Grants.resolve(place.spec, ["./docs"], opener=unreadable) as grants:
        refused = refusal_of_opening(grants, "docs/a.txt")
    assert refused.code is DENIED
    assert "own user may not read" in refused.message
