"""Saving: the whole file or the old one, with the mode that was asked for."""

from pathlib import Path

import pytest

from cuttlebone.saving import save


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_the_stated_mode_whatever_the_old_one_had(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    path.chmod(0o640)
    save(path, b"new", mode=mode)
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"new", mode)
    assert list(tmp_path.iterdir()) == [path]


def test_who_reads_the_old_file_goes_on_reading_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        save(path, b"new", mode=0o600)
        assert reader.read() == b"old"


def test_a_file_that_cannot_be_replaced_leaves_nothing_over(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(IsADirectoryError):
        save(taken, b"new", mode=0o600)
    assert list(tmp_path.iterdir()) == [taken]
