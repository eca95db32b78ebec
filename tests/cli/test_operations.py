"""The page for operators: what it says can be done is done here."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.settings import Settings
from cuttlebone.store.sqlite import open_sqlite_stores
from store.stores import insert, key

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "operations.md").read_text()


def test_the_backup_of_a_store_that_is_open_can_be_started_on(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    backup.mkdir(mode=0o700)
    (statement,) = re.findall(r'^\$ sqlite3 "\$STATE/jobs\.sqlite" "(.+)"$', PAGE, re.MULTILINE)
    stores = open_sqlite_stores(state)
    insert(stores, "a")
    with closing(sqlite3.connect(state / "jobs.sqlite")) as connection:
        connection.execute(statement.replace("$BACKUP", str(backup)))
    stores.close()
    restored = open_sqlite_stores(backup)
    assert restored.jobs.get(key("a")) is not None
    assert restored.jobs.waiting() == 1
    restored.close()


def test_the_unit_sets_only_what_there_is_to_set() -> None:
    stated = set(re.findall(r"CUTTLEBONE_(\w+)=", PAGE))
    assert stated
    assert stated <= {name.upper() for name in Settings.model_fields}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    (unit,) = re.findall(r"^```ini\n(\[Unit\]\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "cuttlebone.service"
    # It looks whether the program is there.
    file.write_text(unit.replace("/opt/cuttlebone/bin/cuttlebone", sys.executable))

    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )

    assert sys.executable in file.read_text()
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def test_the_page_says_the_delays_that_there_are() -> None:
    assert Settings().callback_delays_s == (5, 60, 300, 1800, 7200, 21600, 43200, 86400)


def test_every_link_leads_somewhere() -> None:
    for page, anchor in re.findall(r"\]\(([\w-]*\.md)?(?:#([\w-]+))?\)", PAGE):
        text = (DOCS / page).read_text() if page else PAGE
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert not anchor or anchor in {title.lower().replace(" ", "-") for title in titles}
