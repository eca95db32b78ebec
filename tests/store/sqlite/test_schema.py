"""Files of earlier versions of the durable store, and of later ones."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import SqliteJobStore
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.rows import COLUMNS, row_of
from cuttlebone.store.sqlite.schema import MIGRATIONS, connect
from store.stores import PART, claimed, job


def write_version(folder: Path, version: int) -> None:
    """Write a file of a version, with a job that was running when its host died."""
    connection = connect(folder / FILE_NAME)
    for script in MIGRATIONS[:version]:
        connection.executescript(script)
    connection.execute(f"pragma user_version = {version}")
    columns = [name for name in COLUMNS if name not in {"block_sha256", "spec_sha256"}]
    connection.execute(
        f"insert into jobs ({', '.join(columns)}) values (:{', :'.join(columns)})",
        row_of(job("a")),
    )
    connection.execute("update jobs set status = 'running', attempt = 1, started_us = 1")
    connection.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_file_of_an_earlier_version_is_brought_to_this_one(tmp_path: Path, version: int) -> None:
    write_version(tmp_path, version)
    store = SqliteJobStore(tmp_path)
    recovered = [one.id for one in store.recover()]
    store.record_part(claimed(store), PART)
    parts = list(store.journal_parts("a"))
    store.close()

    assert recovered == ["a"]
    assert parts == [PART]


def test_a_file_of_a_later_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    write_version(tmp_path, len(MIGRATIONS))
    connection = connect(tmp_path / FILE_NAME)
    connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(OperatorError, match=r"schema version \d+, but .* run the newer host"):
        SqliteJobStore(tmp_path)

    assert connection.execute("select status from jobs").fetchone()[0] == "running"
    connection.close()
