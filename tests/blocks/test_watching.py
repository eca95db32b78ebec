"""Which changes of a block's folder matter, and that they are noticed."""

import threading
from pathlib import Path

import pytest
from watchfiles import Change

from cuttlebone.blocks.watching import SourceFilter, changes

BOUND_S = 30.0


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("block.c", True),
        ("cases/a.json", True),
        ("src/lib.rs", True),
        ("block.wasm", False),
        ("block.wasm.tmp1234", False),
        ("other.wasm", True),
        ("target/release/a.d", False),
        ("node_modules/asc/index.js", False),
        (".block.c.swp", False),
        ("block.c~", False),
    ],
)
def test_what_a_person_saves_matters_and_what_a_build_writes_does_not(
    tmp_path: Path, name: str, *, matters: bool
) -> None:
    chosen = SourceFilter(tmp_path, frozenset({tmp_path / "block.wasm"}))

    assert chosen(Change.modified, str(tmp_path / name)) is matters


def test_a_saved_file_is_told_until_somebody_stops_it(tmp_path: Path) -> None:
    stop, saving = threading.Event(), threading.Event()

    def save() -> None:
        while not saving.wait(0.05):
            (tmp_path / "block.c").write_text("int x;")

    # The watch begins at some moment: saving again and again does not miss it.
    thread = threading.Thread(target=save)
    thread.start()
    bound = threading.Timer(BOUND_S, stop.set)
    bound.start()
    try:
        told = next(changes(tmp_path, stop=stop))
    finally:
        saving.set()
        bound.cancel()
        thread.join()

    assert told
    assert {path.name for path in told} == {"block.c"}
