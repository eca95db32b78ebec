"""Files of earlier versions of the durable store, and of later ones."""

import os
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.migrations import MIGRATIONS, SCHEMA_VERSION
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.rows import COLUMNS, row_of
from cuttlebone.text.sealed_numbers import SECRET_BYTES
from store.stores import PART, claimed, insert, job, key

OWNERS_SINCE = 4


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
    owned = ", owner = 'host/1', lease_us = 0" if version >= OWNERS_SINCE else ""
    connection.execute(f"update jobs set status = 'running', attempt = 1, started_us = 1{owned}")
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


def modes(folder: Path) -> dict[str, int]:
    return {one.name: one.stat().st_mode & 0o777 for one in folder.glob(f"{FILE_NAME}*")}


def test_nobody_but_the_owner_reads_the_file_or_what_is_beside_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        stores = open_sqlite_stores(tmp_path)
        insert(stores, "a")
        found = modes(tmp_path)
        stores.close()
    finally:
        os.umask(before)

    assert set(found) == {FILE_NAME, *(f"{FILE_NAME}-{end}" for end in ("wal", "shm", "mark"))}
    assert set(found.values()) == {0o600}


def test_a_file_that_an_older_host_left_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    open_sqlite_stores(tmp_path).close()
    left = [tmp_path / f"{FILE_NAME}{end}" for end in ("", "-wal", "-shm")]
    for path in left:
        path.touch()
        path.chmod(0o644)

    stores = open_sqlite_stores(tmp_path)
    insert(stores, "a")
    found = modes(tmp_path)
    stores.close()

    assert set(found.values()) == {0o600}


def test_the_secret_of_a_file_is_made_once(tmp_path: Path) -> None:
    secrets = []
    for _ in range(2):
        stores = open_sqlite_stores(tmp_path)
        secrets.append(stores.secret)
        stores.close()

    assert secrets[0] == secrets[1]
    assert len(secrets[0]) == SECRET_BYTES
    assert secrets[0] not in repr(stores).encode()
