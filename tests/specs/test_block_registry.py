"""Uploaded blocks in the folder of a host, over restarts and damage."""

import hashlib
from pathlib import Path

import pytest

from api.hosted import SCRIPTS
from cuttlebone.errors import OperatorError, StoreUnavailable
from cuttlebone.sandbox import Sandbox
from cuttlebone.specs.block_registry import BlockRegistry
from cuttlebone.testing import ScriptedSandbox


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def registry(folder: Path, blocks_max: int = 10) -> BlockRegistry:
    sandbox = ScriptedSandbox(SCRIPTS)
    return BlockRegistry(folder, sandbox.admit, blocks_max=blocks_max)


def upload(blocks: BlockRegistry, data: bytes) -> bool:
    with blocks.upload(sha256(data)) as one:
        one.write(data)
        return one.finish()[1]


def test_a_registry_keeps_so_many_blocks(tmp_path: Path) -> None:
    blocks = registry(tmp_path, blocks_max=1)
    assert upload(blocks, b"echo")

    with pytest.raises(StoreUnavailable, match="1 blocks are kept already"):
        upload(blocks, b"echo ")
    assert not upload(blocks, b"echo")


def test_blocks_are_there_after_a_restart_and_what_was_half_there_is_not(tmp_path: Path) -> None:
    upload(registry(tmp_path), b"echo")
    (tmp_path / "x.part").write_bytes(b"half")

    again = registry(tmp_path)

    assert [one.digest for one in again.all()] == [f"sha256:{sha256(b'echo')}"]
    assert not (tmp_path / "x.part").exists()


def test_a_kept_block_that_was_changed_is_no_longer_shown(tmp_path: Path) -> None:
    upload(registry(tmp_path), b"echo")
    (tmp_path / f"{sha256(b'echo')}.wasm").write_bytes(b"echo ")

    assert registry(tmp_path).all() == []


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(OperatorError, match="cannot be used"):
        registry(tmp_path / "file")


def test_a_folder_that_is_gone_keeps_nothing(tmp_path: Path) -> None:
    blocks = registry(tmp_path / "blocks")
    (tmp_path / "blocks").rmdir()

    with pytest.raises(StoreUnavailable):
        upload(blocks, b"echo")


def test_a_real_module_is_admitted_by_the_real_sandbox(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "guest-examples" / "c" / "summarize" / "summarize.wasm"
    with Sandbox() as sandbox:
        blocks = BlockRegistry(tmp_path, sandbox.admit)
        assert upload(blocks, example.read_bytes())

        (shown,) = blocks.all()
    assert str(shown.signature.input) == "{path: text}"
