"""What the tests of files share: a place with a secret, and each way of opening."""

from pathlib import Path

import pytest

from cuttlebone.files.opening import (
    KernelOpener,
    PathOpener,
    kernel_has_openat2,
    open_by_walking,
)
from files.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path)


@pytest.fixture(params=["openat2", "openat2 following links", "walk"])
def opener(request: pytest.FixtureRequest) -> PathOpener:
    if request.param == "walk":
        return open_by_walking
    if not kernel_has_openat2():
        pytest.skip("this kernel has no openat2")
    return KernelOpener(follow_symlinks=request.param.endswith("links"))


@pytest.fixture(params=["openat2", "walk"])
def strict_opener(request: pytest.FixtureRequest) -> PathOpener:
    """Those that follow no link."""
    if request.param == "walk":
        return open_by_walking
    if not kernel_has_openat2():
        pytest.skip("this kernel has no openat2")
    return KernelOpener()
