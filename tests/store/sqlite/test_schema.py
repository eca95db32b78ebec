"""Files of earlier versions of the durable store, and of later ones."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.migrations import MIGRATIONS
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.rows import COLUMNS, row_of
from cuttlebone.store.sqlite.schema import SCHEMA_VERSION, connect
from store.stores import PART, claimed, insert, job, key


def write_version(folder: Path, version: int) -> None:
    """Write a file of a version, with a job that was running when its host died."""
    connection = connect(folder / FILE_NAME)
    for script in MIGRATIONS[:version]:
        connection.executescript(script)
    connection.execute(f"pragma user_version = {version}")
    columns = [name for name in COLUMNS if name not in {"block_sha256", "spec_sha256"}]
    connection.execute(
        f"insert into jobs (rank, {', '.join(columns)}) values (0, :{', :'.join(columns)})",
        row_of(job("a")),
    )
    connection.execute("update jobs set status = 'running', attempt = 1, started_us = 1")
    connection.close()


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_file_of_an_earlier_version_is_brought_to_this_one(tmp_path: Path, version: int) -> None:
    write_version(tmp_path, version)
    stores = open_sqlite_stores(tmp_path)
    recovered = [one.id for one in stores.jobs.recover()]
    stores.journal.record_part(claimed(stores).fence, PART)
    parts = list(stores.journal.parts(key("a")))
    stores.close()

    assert recovered == ["a"]
    assert parts == [PART]


def test_a_file_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    insert(stores, "a")
    stores.close()
    connection = connect(tmp_path / FILE_NAME)
    connection.execute(f"pragma user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(OperatorError, match=r"schema version \d+, but .* run the newer host"):
        open_sqlite_stores(tmp_path)

    assert connection.execute("select status from jobs").fetchone()[0] == "queued"
    connection.close()
