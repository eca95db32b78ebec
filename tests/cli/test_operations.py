"""The page for operators: what it says can be done is done here."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from cuttlebone.jobs.store_sqlite import SqliteJobStore
from cuttlebone.settings import Settings
from jobs.test_store import accept

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "operations.md").read_text()


def test_the_backup_of_a_store_that_is_open_can_be_started_on(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    backup.mkdir(mode=0o700)
    (statement,) = re.findall(r'^\$ sqlite3 "\$STATE/jobs\.sqlite" "(.+)"$', PAGE, re.MULTILINE)
    store = SqliteJobStore(state)
    accept(store, "a")
    with closing(sqlite3.connect(state / "jobs.sqlite")) as connection:
        connection.execute(statement.replace("$BACKUP", str(backup)))
    store.close()
    restored = SqliteJobStore(backup)
    assert restored.get("a") is not None
    assert restored.waiting() == 1
    restored.close()


def test_the_unit_sets_only_what_there_is_to_set() -> None:
    stated = set(re.findall(r"CUTTLEBONE_(\w+)=", PAGE))
    assert stated
    assert stated <= {name.upper() for name in Settings.model_fields}


def test_the_page_says_the_delays_that_there_are() -> None:
    assert Settings().callback_delays_s == (5, 60, 300, 1800, 7200, 21600, 43200, 86400)


def test_every_link_leads_somewhere() -> None:
    for page, anchor in re.findall(r"\]\(([\w-]*\.md)?(?:#([\w-]+))?\)", PAGE):
        text = (DOCS / page).read_text() if page else PAGE
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert not anchor or anchor in {title.lower().replace(" ", "-") for title in titles}
