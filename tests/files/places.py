"""A folder to grant with a secret beside it, and counting of what a process has open."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.files import Grants
from cuttlebone_abi import ErrorCode

PUBLIC = b"public"
SECRET = b"secret"


@dataclass(frozen=True)
class Place:
    """`spec` is the folder of the spec, `docs` in it has files, `secret` lies outside of both."""

    spec: Path
    docs: Path
    secret: Path

    @classmethod
    def make(cls, folder: Path) -> Self:
        made = cls(folder / "spec", folder / "spec" / "docs", folder / "outside" / "secret.txt")
        (made.docs / "sub").mkdir(parents=True)
        made.secret.parent.mkdir()
        made.secret.write_bytes(SECRET)
        (made.docs / "a.txt").write_bytes(PUBLIC)
        (made.docs / "sub" / "b.txt").write_bytes(PUBLIC)
        return made


def content(grants: Grants, path: str) -> bytes:
    """Open `path`, read all of it and close it."""
    file = grants.open(path)
    try:
        return file.read(file.size, 0)
    finally:
        file.close()


def code_of_opening(grants: Grants, path: str) -> ErrorCode:
    return refusal_of_opening(grants, path).code


def refusal_of_opening(grants: Grants, path: str) -> CommandError:
    with pytest.raises(CommandError) as refused:
        grants.open(path)
    return refused.value


def descriptors_open() -> set[str]:
    """The numbers that this process has open, with where they lead."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this listing itself
            found.add(f"{entry.name} {entry.readlink()}")
    return found
