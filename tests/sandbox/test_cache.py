"""Compiled modules on disk: found again when authentic, ignored otherwise."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog
import wasmtime

from cuttlebone.errors import OperatorError
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.sandbox.cache import ArtefactCache, damaged_in
from sandbox.wat import block


def test_what_was_put_is_found_by_the_next_host(tmp_path: Path) -> None:
    ArtefactCache(tmp_path / "cache").put("a", b"code")
    assert ArtefactCache(tmp_path / "cache").get("a") == b"code"


def test_what_was_never_put_is_absent(tmp_path: Path) -> None:
    assert ArtefactCache(tmp_path / "cache").get("a") is None


def test_folder_and_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    ArtefactCache(tmp_path / "cache").put("a", b"code")
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    for path in (tmp_path / "cache").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("position", [0, 31, 32, -1])
def test_one_flipped_bit_makes_an_artefact_absent(tmp_path: Path, position: int) -> None:
    cache = ArtefactCache(tmp_path / "cache")
    cache.put("a", b"code")
    path = tmp_path / "cache" / "a.cwasm"
    stored = bytearray(path.read_bytes())
    stored[position] ^= 1
    path.write_bytes(stored)
    assert cache.get("a") is None


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 32])
def test_a_cut_file_is_absent(tmp_path: Path, content: bytes) -> None:
    cache = ArtefactCache(tmp_path / "cache")
    (tmp_path / "cache" / "a.cwasm").write_bytes(content)
    assert cache.get("a") is None


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    (path / "deeper").mkdir(parents=True)


def flip(path: Path) -> None:
    stored = bytearray(path.read_bytes())
    stored[-1] ^= 1
    path.write_bytes(stored)


@pytest.mark.parametrize("damage", [flip, folder_in_its_place])
def test_what_is_damaged_is_said_once_counted_and_mended(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    cache, path = ArtefactCache(tmp_path / "cache"), tmp_path / "cache" / "a.cwasm"
    cache.put("a", b"code")
    damage(path)

    assert list(damaged_in(tmp_path / "cache")) == [path]
    with structlog.testing.capture_logs() as logs:
        assert (cache.get("a"), cache.get("a")) == (None, None)
    cache.put("a", b"code")

    assert [(one["log_level"], one["file"]) for one in logs] == [("warning", str(path))]
    assert cache.damaged == 1
    assert cache.get("a") == b"code"
    assert not damaged_in(tmp_path / "cache")


def test_to_look_for_damage_changes_nothing(tmp_path: Path) -> None:
    assert not damaged_in(tmp_path / "none")
    cache = ArtefactCache(tmp_path / "cache")
    cache.put("a", b"code")
    (tmp_path / "cache" / "b.cwasm").mkdir()
    before = sorted((tmp_path / "cache").iterdir())

    assert [one.name for one in damaged_in(tmp_path / "cache")] == ["b.cwasm"]
    assert sorted((tmp_path / "cache").iterdir()) == before


def test_a_folder_among_the_oldest_makes_room_as_well(tmp_path: Path) -> None:
    cache = ArtefactCache(tmp_path / "cache", bytes_max=1)
    (tmp_path / "cache" / "b.cwasm").mkdir()
    cache.put("a", b"code")

    assert [one.name for one in (tmp_path / "cache").iterdir()] == ["key"]


def test_an_artefact_under_another_name_is_absent(tmp_path: Path) -> None:
    cache = ArtefactCache(tmp_path / "cache")
    cache.put("a", b"code")
    (tmp_path / "cache" / "a.cwasm").rename(tmp_path / "cache" / "b.cwasm")
    assert cache.get("b") is None


def test_the_oldest_artefacts_make_room(tmp_path: Path) -> None:
    cache = ArtefactCache(tmp_path / "cache", bytes_max=300)
    for name in "abc":
        cache.put(name, bytes(100))
    assert cache.get("a") is None
    assert cache.get("c") == bytes(100)


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    with pytest.raises(OperatorError, match="chmod 700"):
        ArtefactCache(tmp_path / "cache")


def test_a_cache_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(OperatorError, match="cannot be used"):
        ArtefactCache(tmp_path / "cache")


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    ArtefactCache(tmp_path / "cache")
    (tmp_path / "cache" / "key").write_bytes(b"short")
    with pytest.raises(OperatorError, match="damaged"):
        ArtefactCache(tmp_path / "cache")


def test_a_block_runs_from_the_cache_and_also_from_a_tampered_one(tmp_path: Path) -> None:
    wasm = bytes(wasmtime.wat2wasm(block()))

    def run_it() -> bytes:
        with Sandbox(tmp_path / "cache") as sandbox:
            guest = sandbox.open_guest(sandbox.admit(wasm), GuestLimits())
            try:
                return guest.init(b"{}")
            finally:
                guest.close()

    first = run_it()
    assert run_it() == first
    for path in (tmp_path / "cache").glob("*.cwasm"):
        path.write_bytes(b"\0" * path.stat().st_size)
    assert run_it() == first
