"""What is found at a start of what happened to the files of a store: refused, and nothing changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.inspection import inspect_store
from cuttlebone.store.sqlite.mark import SLOT_BYTES, mark_path, read_mark
from store.sqlite.damage import (
    IN_FILE,
    JOBS,
    another_log,
    copy_state,
    cut,
    damaged_header,
    damaged_page,
    database,
    file_of_nothing,
    foreign_file,
    left_by_a_crash,
    log,
    middle_of_log,
    overwrite,
)
from store.stores import START, insert


def files(state: Path) -> dict[str, bytes]:
    """All that has something in it, but the memory that SQLite's processes share."""
    found = {one.name: one.read_bytes() for one in state.iterdir()}
    return {name: data for name, data in found.items() if data and not name.endswith("-shm")}


def jobs_at_start(state: Path) -> int:
    stores = open_sqlite_stores(state)
    try:
        return sum(stores.jobs.counts().values())
    finally:
        stores.close()


def newer(state: Path) -> None:
    connection = connect(database(state))
    connection.execute("pragma user_version = 1000")
    connection.close()


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty file": (file_of_nothing, "is empty, but held 30 jobs"),
    "file missing": (lambda state: database(state).unlink(), "is gone, but held 30 jobs"),
    "truncated file": (lambda state: cut(database(state), 0.5), "damaged|malformed"),
    "damaged header": (damaged_header, "not a database"),
    "damaged page in the middle": (damaged_page, "damaged|malformed"),
    "log missing": (lambda state: log(state).unlink(), r"it held 30 jobs, and 20 can be read"),
    "log cut": (lambda state: cut(log(state), 0.5), r"it held 30 jobs, and 2\d can be read"),
    "log damaged at its head": (
        lambda state: overwrite(log(state), 8, 8),
        r"it held 30 jobs, and 20 can be read",
    ),
    "log damaged in the middle": (middle_of_log, r"it held 30 jobs, and 2\d can be read"),
    "log of another database": (another_log, "another one than|damaged|malformed"),
    "foreign file": (foreign_file, "none that a host wrote"),
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return left_by_a_crash(tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_lost_something_is_refused_and_left_as_it_is(state: Path, name: str) -> None:
    damage, words = REFUSED[name]
    damage(state)
    before = files(state)

    with pytest.raises(OperatorError, match=words) as refusal:
        open_sqlite_stores(state)
    with pytest.raises(OperatorError, match=words):
        inspect_store(state)

    assert f"`cuttlebone salvage {state} --into FOLDER`" in str(refusal.value)
    assert "nothing was changed" in str(refusal.value)
    assert files(state) == before


def test_a_newer_file_is_refused_and_left_as_it_is(state: Path) -> None:
    newer(state)
    before = files(state)
    with pytest.raises(OperatorError, match="run the newer host"):
        open_sqlite_stores(state)

    assert files(state) == before


def test_what_a_crash_leaves_is_whole(state: Path) -> None:
    assert jobs_at_start(state) == JOBS


def test_without_the_memory_that_processes_share_nothing_is_missing(state: Path) -> None:
    (state / "jobs.sqlite-shm").unlink()
    assert jobs_at_start(state) == JOBS


def test_a_folder_without_a_mark_is_opened_and_gets_one(state: Path) -> None:
    mark_path(database(state)).unlink()
    with structlog.testing.capture_logs() as logs:
        assert jobs_at_start(state) == JOBS

    assert [one["file"] for one in logs] == [str(mark_path(database(state)))]
    after = read_mark(database(state))
    assert after is not None
    assert after.jobs == JOBS


def test_a_file_of_nothing_beside_a_log_is_refused_also_without_a_mark(state: Path) -> None:
    """SQLite itself would throw the log away."""
    mark_path(database(state)).unlink()
    file_of_nothing(state)
    with pytest.raises(OperatorError, match="is empty, but its log of changes is there"):
        open_sqlite_stores(state)
    assert log(state).stat().st_size > 0


@pytest.mark.parametrize("slot", [0, 1])
def test_a_mark_of_which_one_half_was_not_written_whole_still_counts(
    state: Path, slot: int
) -> None:
    before = read_mark(database(state))
    overwrite(mark_path(database(state)), slot * SLOT_BYTES + 20, 4)
    after = read_mark(database(state))

    assert before is not None
    assert after is not None
    assert before.commits - after.commits in {0, 1}
    assert jobs_at_start(state) == JOBS


def test_a_folder_that_is_copied_while_its_host_runs_is_whole_or_refused(tmp_path: Path) -> None:
    """The database before a checkpoint, the log after it: what was in between is in neither."""
    stores = open_sqlite_stores(tmp_path / "state")
    insert(stores, *(f"early-{number}" for number in range(IN_FILE)))
    stores.jobs.forget_finished_before(START, ttl_s=1)
    copied = copy_state(tmp_path / "state", tmp_path / "copied")
    insert(stores, *(f"between-{number}" for number in range(IN_FILE)))
    stores.jobs.forget_finished_before(START, ttl_s=1)
    insert(stores, "late")
    shutil.copy(log(tmp_path / "state"), log(copied))
    stores.close()

    with pytest.raises(OperatorError, match=r"damaged|malformed"):
        open_sqlite_stores(copied)


def test_the_mark_goes_with_the_commits(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    seen = []
    for number in range(3):
        insert(stores, f"job-{number}")
        mark = read_mark(database(tmp_path))
        assert mark is not None
        seen.append((mark.commits, mark.jobs))
    stores.close()

    first = seen[0][0]
    assert seen == [(first, 1), (first + 1, 2), (first + 2, 3)]
