"""Power that goes at any moment: nothing promised is lost, nothing is damaged.

A real store runs once while everything that it writes and syncs is logged. Each trial cuts the log
at a random place, makes of it what a disk might hold then, and opens a store on that.

`pytest tests/crash/test_power_loss.py --trials 1000 --timeout 0` makes a thousand trials.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from crash.power import Disk, Record, read_log
from crash.power_writer import PROMISES
from cuttlebone.errors import OperatorError
from cuttlebone.job.job import TENANT, JobKey
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import JobStatus

TRIALS_SHORT = 40
JOBS = 30
HERE = Path(__file__).parent
SEED = 5

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="preloads a library as Linux does")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that logs what a process writes."""
    built = tmp_path_factory.mktemp("power") / "power_log.so"
    compiler = (sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1")
    subprocess.run([*compiler, "-o", built, HERE / "power_log.c"], check=True, capture_output=True)
    return built


@pytest.fixture
def log(library: Path, tmp_path: Path) -> list[Record]:
    """All that a store wrote in a life."""
    state, log = tmp_path / "state", tmp_path / "log"
    paths = f"{HERE.parent}:{os.environ.get('PYTHONPATH', '')}"
    subprocess.run(
        [sys.executable, HERE / "power_writer.py", state, str(JOBS)],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "POWER_FOLDER": str(state),
            "POWER_LOG": str(log),
            "PYTHONPATH": paths,
        },
        check=True,
    )
    return read_log(log)


def promises(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """What had been promised when the power went."""
    said = b"".join(record.data for record in records if record.path == PROMISES)
    for line in said.splitlines():
        what, job = json.loads(line)
        yield what, job


def test_the_log_has_what_it_takes(log: list[Record]) -> None:
    """Writes and syncs of both files, and checkpoints in between."""
    done = {(record.path, record.what) for record in log}
    assert {("jobs.sqlite", "W"), ("jobs.sqlite", "S")} <= done
    assert {("jobs.sqlite-wal", "W"), ("jobs.sqlite-wal", "S")} <= done
    assert sum(record.path == "jobs.sqlite" and record.what == "S" for record in log) > 10
    assert len(list(promises(log))) > JOBS


def test_a_store_without_syncs_would_be_found_out(log: list[Record], tmp_path: Path) -> None:
    """The trial can fail: what is never synced is lost or damaged."""
    records = [record for record in log if record.what != "S"]
    folder = tmp_path / "loss"
    folder.mkdir()
    Disk(records).after_power_loss(folder, random.Random(SEED))
    try:
        lost = broken(folder, log)
    except OperatorError:
        return  # damaged
    assert lost != []


def test_what_was_promised_survives_a_power_loss(
    log: list[Record], tmp_path: Path, trials: Callable[[int], int]
) -> None:
    chance = random.Random(SEED)
    first = next(at for at, record in enumerate(log) if record.path == PROMISES)
    for trial in range(trials(TRIALS_SHORT)):
        records = log[: chance.randint(first, len(log))]
        folder = tmp_path / f"loss-{trial}"
        folder.mkdir()
        Disk(records).after_power_loss(folder, chance)
        assert broken(folder, records) == [], f"trial {trial}, cut at {len(records)}"


def broken(folder: Path, records: Sequence[Record]) -> list[str]:
    """The promises that a store opened on `folder` does not keep. It raises if it is damaged."""
    stores = open_sqlite_stores(folder)
    try:
        stores.jobs.recover()
        return [
            f"{job} was {what}" for what, job in promises(records) if not _kept(stores, what, job)
        ]
    finally:
        stores.close()


def _kept(stores: Stores, what: str, job_id: str) -> bool:
    key = JobKey(TENANT, job_id)
    job = stores.jobs.get(key)
    if job is None:
        return False
    match what:
        case "accepted":
            return job.status is JobStatus.QUEUED or job.envelope is not None
        case "recorded":
            return len(stores.journal.journal(key)) == 1
        case _:
            return job.status is JobStatus.COMPLETED and job.envelope is not None
