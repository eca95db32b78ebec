"""`cuttlebone salvage`: a state folder that a host starts on, of one that no host starts on."""

import json
from pathlib import Path

import pytest

from cuttlebone.cli import main
from cuttlebone.store.sqlite import open_sqlite_stores
from store.sqlite.damage import JOBS, damaged_page, database, left_by_a_crash, log, overwrite
from store.sqlite.test_soundness import files


@pytest.fixture
def state(tmp_path: Path) -> Path:
    made = left_by_a_crash(tmp_path)
    (made / "blocks").mkdir()
    (made / "blocks" / "a.wasm").write_bytes(b"block")
    (made / "callback_secret").write_text("secret")
    return made


def start_of(state: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What `serve` says of a folder that it refuses."""
    specs = state.parent / "specs"
    specs.mkdir(exist_ok=True)
    status = main(["serve", "--state", str(state), "--specs", str(specs), "--port", "0"])
    return status, capsys.readouterr().err


def test_a_host_refuses_and_names_the_way_out_which_leads_out(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(state).unlink()
    (state / "blocks" / "a.wasm").unlink()
    (state / "blocks").rmdir()
    before = files(state)
    status, said = start_of(state, capsys)

    assert status == 2
    assert "it held 30 jobs, and 20 can be read" in said
    assert f"`cuttlebone salvage {state} --into FOLDER`" in said
    assert files(state) == before


def test_all_but_the_jobs_is_copied_and_what_is_gone_is_said(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(state).unlink()
    into = state.parent / "into"
    status = main(["salvage", str(state), "--into", str(into)])
    said = capsys.readouterr().out.splitlines()

    assert status == 1
    assert said == [
        f"20 jobs are in {into}",
        "gone: the last 11 changes; jobs are as they were before them, and may run again",
        "gone: 10 more, of which nothing can be read",
    ]
    assert (into / "blocks" / "a.wasm").read_bytes() == b"block"
    assert (into / "callback_secret").read_text() == "secret"
    assert into.stat().st_mode & 0o077 == 0
    stores = open_sqlite_stores(into)
    assert sum(stores.jobs.counts().values()) == 20
    stores.close()


def test_a_job_that_is_gone_is_named(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged_page(state)
    overwrite(database(state), 15 * 4096, 4096)
    status = main(["salvage", str(state), "--into", str(state.parent / "into"), "--json"])
    found = json.loads(capsys.readouterr().out)

    assert status == 1
    assert found["kept"] + len(found["gone"]) == JOBS
    assert all(one["id"].startswith("job-") and one["why"] for one in found["gone"])


def test_where_nothing_is_gone_the_status_says_so(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = state.parent / "into"
    assert main(["salvage", str(state), "--into", str(into)]) == 0
    assert capsys.readouterr().out == f"{JOBS} jobs are in {into}\n"


def test_a_folder_with_something_in_it_is_left_alone(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["salvage", str(state), "--into", str(state)]) == 2
    assert "has something in it; name a new folder" in capsys.readouterr().err


def test_a_folder_that_a_host_uses_is_refused(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = open_sqlite_stores(state)
    status = main(["salvage", str(state), "--into", str(state.parent / "into")])
    stores.close()

    assert status == 2
    assert "another host uses the state folder" in capsys.readouterr().err


def test_a_folder_without_a_store_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["salvage", str(tmp_path), "--into", str(tmp_path / "into")]) == 2
    assert "there is no job store in" in capsys.readouterr().err
