"""How much memory there is, from what a kernel says."""

from pathlib import Path

import pytest

from cuttlebone.inference.available_memory import available_bytes


@pytest.fixture
def meminfo(tmp_path: Path) -> Path:
    """What a machine with 3 GiB available says."""
    path = tmp_path / "meminfo"
    path.write_text("MemTotal:       9000000 kB\nMemAvailable:   3145728 kB\n")
    return path


def test_it_is_what_the_machine_has_available(meminfo: Path, tmp_path: Path) -> None:
    assert available_bytes(meminfo=meminfo, cgroup=tmp_path) == 3 << 30


@pytest.mark.parametrize(
    ("bound", "expected"), [("2147483648", 1 << 30), ("max", 3 << 30), ("1000", 0)]
)
def test_a_container_may_have_less(
    meminfo: Path, tmp_path: Path, bound: str, expected: int
) -> None:
    (tmp_path / "memory.max").write_text(f"{bound}\n")
    (tmp_path / "memory.current").write_text(f"{1 << 30}\n")
    assert available_bytes(meminfo=meminfo, cgroup=tmp_path) == expected


def test_without_a_word_of_the_kernel_little_is_assumed(tmp_path: Path) -> None:
    assert available_bytes(meminfo=tmp_path / "none", cgroup=tmp_path) == 4 << 30


def test_this_machine_has_some() -> None:
    assert available_bytes() > 0
