"""Opening while another thread swaps what is opened for links to a secret: nothing leaks.

CUTTLEBONE_RACE_OPENS sets the number of opens of each test.
"""

import errno
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.errors import CommandError
from cuttlebone.files import Grants
from cuttlebone.files.opening import PathOpener, open_path, real_path
from cuttlebone_abi import ErrorCode
from files.places import PUBLIC, SECRET, Place, content

OPENS = int(os.environ.get("CUTTLEBONE_RACE_OPENS", "20000"))
OPENS_MAX = 20 * OPENS
"""Where a test gives up waiting to meet what it has to meet."""
SWITCH_INTERVAL_S = 1e-5


@pytest.fixture(params=["file", "folder"])
def swapped(request: pytest.FixtureRequest, place: Place) -> Path:
    """The name that is public at one moment and a link to the secret at the next."""
    if request.param == "folder":
        (place.secret.parent / "b.txt").write_bytes(SECRET)
        (place.docs / "trap").symlink_to(place.secret.parent)
        return place.docs / "sub"
    (place.docs / "trap").symlink_to(place.secret)
    return place.docs / "a.txt"


def path_through(swapped: Path) -> str:
    return "docs/a.txt" if swapped.name == "a.txt" else "docs/sub/b.txt"


@contextmanager
def swapping(swapped: Path) -> Iterator[None]:
    stop, trap, aside = threading.Event(), swapped.with_name("trap"), swapped.with_name("aside")

    def swap() -> None:
        while not stop.is_set():
            swapped.rename(aside)
            trap.rename(swapped)
            swapped.rename(trap)
            aside.rename(swapped)

    thread, interval = threading.Thread(target=swap), sys.getswitchinterval()
    # At the usual 5 ms the two threads would take long turns instead of interleaving their calls.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(scaled(10))
        sys.setswitchinterval(interval)
    assert not thread.is_alive()


def outcomes(grants: Grants, path: str, enough: Callable[[Counter[bytes]], bool]) -> Counter[bytes]:
    seen: Counter[bytes] = Counter()
    while not enough(seen) and seen.total() < OPENS_MAX:
        try:
            seen[content(grants, path)] += 1
        except CommandError as refused:
            seen[refused.code.encode()] += 1
    return seen


def met_both_sides(seen: Counter[bytes]) -> bool:
    return seen[PUBLIC] > 0 and seen[ErrorCode.CAPABILITY_DENIED.encode()] > 0


def test_no_open_gives_the_secret(place: Place, swapped: Path, opener: PathOpener) -> None:
    def enough(seen: Counter[bytes]) -> bool:
        return seen.total() >= OPENS and met_both_sides(seen)

    with Grants.resolve(place.spec, ["./docs"], opener=opener) as grants, swapping(swapped):
        seen = outcomes(grants, path_through(swapped), enough)
    assert seen[SECRET] == 0
    assert met_both_sides(seen)


def test_the_race_is_real_for_one_who_compares_the_real_path_and_then_opens(
    place: Place, swapped: Path
) -> None:
    def careless(root_fd: int, relative: bytes) -> int:
        root = real_path(root_fd)
        named = root / os.fsdecode(relative)
        try:
            inside = named.resolve().is_relative_to(root)
        except OSError:  # a link that became a file while it was being read
            inside = False
        if not inside:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_path(named)

    with Grants.resolve(place.spec, ["./docs"], opener=careless) as grants, swapping(swapped):
        seen = outcomes(
            grants,
            path_through(swapped),
            lambda seen: seen[SECRET] > 0,
        )
    assert seen[SECRET] > 0
