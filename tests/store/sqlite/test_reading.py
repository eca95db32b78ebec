"""Looking into the file of a state folder from outside, by the id of a job alone."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite import open_sqlite_stores, recorded_in
from store.stores import ENTRY, claimed, insert, job


def test_a_job_is_found_while_a_host_uses_the_folder(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    stores.jobs.insert(job("a", "red"), waiting_max=9).result()
    stores.journal.record(claimed(stores).fence, ENTRY)
    found = recorded_in(tmp_path, "a")
    stores.close()

    assert (found.id, found.entries()) == ("a", (ENTRY,))


def test_an_id_that_two_tenants_use_is_not_guessed_at(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    insert(stores, "a")
    stores.jobs.insert(job("a", "red"), waiting_max=9).result()
    stores.close()

    with pytest.raises(OperatorError, match=r"2 tenants have a job 'a' .*: local, red; export it"):
        recorded_in(tmp_path, "a")


def test_a_job_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    open_sqlite_stores(tmp_path).close()
    with pytest.raises(OperatorError, match="there is no job 'a'"):
        recorded_in(tmp_path, "a")
    with pytest.raises(OperatorError, match="give the state folder of a host"):
        recorded_in(tmp_path / "elsewhere", "a")
