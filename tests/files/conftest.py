"""What the tests of files share: a folder with a secret beside it, and every way of opening."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from cuttlebone.files.opening import (
    KernelOpener,
    PathOpener,
    kernel_has_openat2,
    open_by_walking,
)


@dataclass(frozen=True)
class Place:
    """A folder that is granted, `folder/docs`, and a secret that is not."""

    folder: Path
    docs: Path
    secret: Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "spec"
    docs = folder / "docs"
    docs.mkdir(parents=True)
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("secret")
    (docs / "a.txt").write_text("public")
    (docs / "sub").mkdir()
    (docs / "sub" / "b.txt").write_text("below")
    return Place(folder, docs, secret)


@pytest.fixture(params=["openat2", "openat2, following links", "walk"])
def opener(request: pytest.FixtureRequest) -> PathOpener:
    if request.param == "walk":
        return open_by_walking
    if not kernel_has_openat2():
        pytest.skip("this kernel has no openat2")
    return KernelOpener(follow_symlinks="following" in request.param)


@pytest.fixture(params=["openat2", "walk"])
def strict_opener(request: pytest.FixtureRequest) -> PathOpener:
    if request.param == "walk":
        return open_by_walking
    if not kernel_has_openat2():
        pytest.skip("this kernel has no openat2")
    return KernelOpener()
