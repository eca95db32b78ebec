"""What belongs to the folder of a block, and when its module has to be built."""

import os
from pathlib import Path

import pytest

from cuttlebone.authoring.case import case_files
from cuttlebone.authoring.folder import BlockFolder, Language, is_stale, open_folder, sources


@pytest.fixture
def folder(tmp_path: Path) -> BlockFolder:
    """A block of three seconds ago, whose module was built since."""
    (tmp_path / "b.yaml").write_text("name: b\ndescription: d\nblock: b.wasm\n")
    for name in ("block.c", "block.h", "sub/more.h", "cases/one.json", "b.yaml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_text("{}")
        os.utime(file, (1_000, 1_000))
    (tmp_path / "b.wasm").write_bytes(b"")
    os.utime(tmp_path / "b.wasm", (2_000, 2_000))
    return open_folder(tmp_path)


def test_files_of_editors_are_neither_sources_nor_specs_nor_cases(folder: BlockFolder) -> None:
    for name in (".#block.c", ".#b.yaml", "cases/.#one.json"):
        (folder.path / name).symlink_to("user@machine.4242")
    assert [file.name for file in sources(folder.path, Language.C)] == ["block.c"]
    assert [file.name for file in case_files(folder.path)] == ["one.json"]
    assert open_folder(folder.path).spec_path.name == "b.yaml"


def test_a_module_that_is_newer_than_its_sources_is_not_stale(folder: BlockFolder) -> None:
    assert not is_stale(folder)


@pytest.mark.parametrize("name", ["block.c", "block.h", "sub/more.h", "new.c"])
def test_a_source_that_was_saved_makes_it_stale(folder: BlockFolder, name: str) -> None:
    (folder.path / name).write_text("int x;")
    assert is_stale(folder)


@pytest.mark.parametrize(
    "name", ["cases/one.json", "cases/two.json", "b.yaml", "4913", "block.c~", "target/a.d"]
)
def test_what_no_module_is_made_of_leaves_it(folder: BlockFolder, name: str) -> None:
    (folder.path / "target").mkdir()
    (folder.path / name).write_text("{}")
    assert not is_stale(folder)


def test_a_module_that_is_not_there_has_to_be_built(folder: BlockFolder) -> None:
    folder.module.unlink()
    assert is_stale(folder)
