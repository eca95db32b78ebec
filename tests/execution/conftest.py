"""What most tests of running jobs need: scopes, a store of each kind, a folder with a text."""

from pathlib import Path

import pytest

from execution.recordings import TEXT
from job_scopes import scope_of, told
from store.stores import lives, stores

__all__ = ["folder", "lives", "scope_of", "stores", "told"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one text, which `jobs.recordings.block` reads."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    return tmp_path
