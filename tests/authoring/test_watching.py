"""Which changes of a block's folder matter, and that they are noticed."""

import threading
from pathlib import Path

import pytest
from watchfiles import Change

from bounds import scaled
from cuttlebone.authoring.watching import SourceFilter, changes

BOUND_S = scaled(30.0)


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
        ("4913", False),
        ("cases/#a.json#", False),
    ],
)
def test_what_a_person_saves_matters_and_what_a_build_writes_does_not(
    tmp_path: Path, name: str, *, matters: bool
) -> None:
    chosen = SourceFilter(tmp_path, frozenset({tmp_path / "block.wasm"}))

    assert chosen(Change.modified, str(tmp_path / name)) is matters


def test_whatever_is_saved_after_it_listens_is_told_until_somebody_stops_it(tmp_path: Path) -> None:
    stop = threading.Event()
    bound = threading.Timer(BOUND_S, stop.set)
    bound.start()
    batches = changes(tmp_path, stop=stop)
    assert next(batches) == []

    (tmp_path / "block.c").write_text("int x;")
    told = next(batches)
    stop.set()

    bound.cancel()
    assert told == [tmp_path.resolve() / "block.c"]
    assert list(batches) == []
