"""Saving: the whole file, the old one or none, with the mode that was asked for."""

from pathlib import Path

import pytest

from cuttlebone.saving import UNFINISHED, give_name, make_private, save, save_first, unnamed


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


def test_of_several_that_save_first_one_is_told_so_and_its_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert save_first(path, b"one")
    assert not save_first(path, b"two")
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_a_name_is_gone_after_the_body(tmp_path: Path) -> None:
    with unnamed(tmp_path) as file:
        file.write(b"half")
        [left] = tmp_path.iterdir()
        assert left.suffix == UNFINISHED
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_given_a_name_is_whole_under_it(tmp_path: Path) -> None:
    path = tmp_path / "block"
    with unnamed(tmp_path) as file:
        file.write(b"all")
        give_name(file, path)
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_made_for_its_owner_alone_with_those_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = tmp_path / "cache" / "modules" / "first"

    make_private(folder)

    made = (folder, folder.parent, folder.parent.parent)
    assert [one.stat().st_mode & 0o777 for one in made] == [0o700] * 3
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    make_private(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o750


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "taken")
