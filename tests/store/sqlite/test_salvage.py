"""A new store of what can be read of a damaged one: what is kept is whole, what is gone is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.mark import mark_path
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.salvage import Salvaged, salvage_database
from cuttlebone_abi import JobStatus
from store.sqlite.damage import (
    IN_FILE,
    JOBS,
    PAGE_BYTES,
    another_log,
    copy_state,
    cut,
    damaged_header,
    database,
    file_of_nothing,
    fold,
    left_by_a_crash,
    log,
    middle_of_log,
    overwrite,
)
from store.sqlite.test_soundness import files
from store.stores import DONE, insert, key

SCHEMA_PAGES = 3
"""Those of the table of tables, without the first page."""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return left_by_a_crash(tmp_path)


def salvaged(state: Path) -> tuple[Salvaged, Path]:
    into = state.parent / "into"
    into.mkdir()
    before = files(state)
    found = salvage_database(database(state), into / FILE_NAME)
    assert files(state) == before
    return found, into


def kept(into: Path) -> list[str]:
    """The jobs of a store that a host can use, and each can be read whole."""
    stores = open_sqlite_stores(into)
    with connect(into / FILE_NAME, read_only=True) as reader:
        names = [row[0] for row in reader.execute("select id from jobs order by id")]
    for name in names:
        found = stores.jobs.get(key(name))
        assert found is not None
        assert len(stores.events.read(key(name), after=0, limit=9)) >= 1
    stores.close()
    return names


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _state: None, id="none"),
        pytest.param(lambda state: overwrite(log(state), 8, 8), id="log damaged at its head"),
        pytest.param(damaged_header, id="damaged header"),
        pytest.param(lambda state: mark_path(database(state)).unlink(), id="mark missing"),
    ],
)
def test_where_everything_can_be_read_everything_is_kept(
    state: Path, damage: Callable[[Path], None]
) -> None:
    damage(state)
    found, into = salvaged(state)

    assert (found.kept, found.gone, found.unnamed) == (JOBS, (), 0)
    assert found.changes_gone == 0
    assert len(kept(into)) == JOBS


def test_a_salvaged_store_goes_on_where_the_other_ended(state: Path) -> None:
    _, into = salvaged(state)
    stores = open_sqlite_stores(into)
    ended = stores.jobs.get(key("job-00"))
    counts = stores.jobs.counts()
    claimed = stores.jobs.claim()
    stores.close()

    assert ended is not None
    assert ended.envelope == DONE
    assert (counts[JobStatus.QUEUED], counts[JobStatus.COMPLETED]) == (JOBS - 1, 1)
    assert claimed is not None
    assert claimed.id == "job-01"


def test_behind_a_damaged_page_of_the_log_everything_is_read(state: Path) -> None:
    middle_of_log(state)
    found, into = salvaged(state)

    # Later commits of the same page have it whole again.
    assert (found.frames_damaged, found.kept, found.changes_gone) == (1, JOBS, 0)
    assert not found.whole
    assert len(kept(into)) == JOBS


def test_of_a_log_that_was_cut_the_rest_is_said_to_be_gone(state: Path) -> None:
    cut(log(state), 0.5)
    found, into = salvaged(state)

    assert IN_FILE <= found.kept < JOBS
    assert found.kept + len(found.gone) + found.unnamed == JOBS
    assert len(kept(into)) == found.kept


def test_without_its_log_the_database_is_kept_as_it_was(state: Path) -> None:
    log(state).unlink()
    found, into = salvaged(state)

    assert (found.kept, found.unnamed) == (IN_FILE, JOBS - IN_FILE)
    assert found.changes_gone == 1 + JOBS - IN_FILE  # the end of a job was in the log as well
    assert kept(into) == [f"job-{number:02}" for number in range(IN_FILE)]


def test_the_log_of_another_store_is_left_aside(state: Path) -> None:
    another_log(state)
    found, into = salvaged(state)

    assert found.foreign_log
    assert (found.kept, found.unnamed) == (IN_FILE, JOBS - IN_FILE)
    assert len(kept(into)) == IN_FILE


def test_of_an_emptied_file_the_log_is_read(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path / "alive")
    insert(stores, "a", "b")
    state = copy_state(tmp_path / "alive", tmp_path / "state")
    stores.close()
    file_of_nothing(state)
    found, into = salvaged(state)

    assert (found.kept, found.gone, found.unnamed) == (2, (), 0)
    assert kept(into) == ["a", "b"]


def test_where_there_is_nothing_everything_is_gone(state: Path) -> None:
    file_of_nothing(state)
    log(state).unlink()
    found, into = salvaged(state)

    assert (found.kept, found.gone, found.unnamed) == (0, (), JOBS)
    assert kept(into) == []


def test_what_cannot_be_read_at_all_is_refused_and_nothing_is_made(state: Path) -> None:
    """The second page of the table of tables: nobody knows where anything is."""
    fold(state)
    page = database(state).read_bytes().index(b"jobs_forgotten") // PAGE_BYTES
    overwrite(database(state), page * PAGE_BYTES, PAGE_BYTES)
    into = state.parent / "into"
    into.mkdir()
    with pytest.raises(OperatorError, match=r"nothing can be read of .*, which held 30 jobs"):
        salvage_database(database(state), into / FILE_NAME)

    assert not list(into.iterdir())


def test_each_page_that_is_damaged_takes_only_what_was_on_it(state: Path, tmp_path: Path) -> None:
    fold(state)
    whole = database(state).read_bytes()
    kept_of: list[int] = []
    unreadable = 0
    for page in range(1, len(whole) // PAGE_BYTES):
        overwrite(database(state), page * PAGE_BYTES, PAGE_BYTES)
        into = tmp_path / f"page-{page}"
        into.mkdir()
        try:
            found = salvage_database(database(state), into / FILE_NAME)
        except OperatorError:
            unreadable += 1
        else:
            assert found.kept + len(found.gone) + found.unnamed == JOBS
            assert all(one.why for one in found.gone)
            kept_of.append(found.kept)
        database(state).write_bytes(whole)

    assert unreadable <= SCHEMA_PAGES
    # Rows and events of jobs are on a few pages each, and what is on the other pages can be made anew.
    assert sorted(kept_of)[:2] == [0, 0]
    assert kept_of.count(JOBS) > 0.7 * len(kept_of)


def test_of_a_truncated_file_the_first_part_is_read(state: Path) -> None:
    fold(state)
    cut(database(state), 0.7)
    found, into = salvaged(state)

    assert found.kept + len(found.gone) + found.unnamed == JOBS
    assert len(kept(into)) == found.kept
