"""A state folder as the host before version 4 left it when it died, brought to this version: all is there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.job.delivery import DeliveryState, Topic
from cuttlebone.job.events import EventFilter
from cuttlebone.job.job import Job, JobKey
from cuttlebone.job_options import Priority, Recording
from cuttlebone.store.sqlite import open_sqlite_stores, recorded_in
from cuttlebone.store.sqlite.migrations import SCHEMA_VERSION
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Cancelled, Completed, Failed, JobStatus
from store.stores import ENTRY, PART, START, claimed, job, key

DUMP: Final = Path(__file__).with_name("version_3.sql")
RUNNING: Final = key("running", "red")
KINDS: Final = ["status", "status", "progress", "token", "status", "result"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.executescript(DUMP.read_text())
        connection.execute("pragma user_version = 3")
    return tmp_path


@pytest.fixture
def stores(folder: Path) -> Iterator[Stores]:
    opened = open_sqlite_stores(folder)
    yield opened
    opened.close()


def kept(stores: Stores, wanted: JobKey) -> Job:
    found = stores.jobs.get(wanted)
    assert found is not None
    return found


def test_jobs_are_what_they_were(stores: Stores) -> None:
    done = kept(stores, key("completed"))
    assert (done.status, done.attempt, done.ttl_s) == (JobStatus.COMPLETED, 1, 1000)
    assert done.input == b'{"of":"completed","big":%d}' % 2**70
    assert (done.progress, done.recording) == ({"page": 1}, Recording.FULL)
    assert isinstance(done.envelope, Completed)
    assert done.envelope.result == 2**70
    assert done.accounting is not None
    assert done.accounting.memory_bytes_peak == 7
    assert (done.created_at, done.labels, done.number) == (START, {"team": "sepia"}, 1)
    assert isinstance(kept(stores, key("failed")).envelope, Failed)
    assert isinstance(kept(stores, key("cancelled")).envelope, Cancelled)
    assert kept(stores, key("queued")).expires_at == START + timedelta(days=9)
    assert kept(stores, key("urgent")).priority is Priority.INTERACTIVE
    counts = {JobStatus.QUEUED: 2, JobStatus.RUNNING: 1, JobStatus.COMPLETED: 1}
    assert stores.jobs.counts() == {**counts, JobStatus.FAILED: 1, JobStatus.CANCELLED: 1}


def test_events_and_journals_are_what_they_were(stores: Stores) -> None:
    told = stores.events.read(key("completed"), after=0, limit=99)
    assert [event.number for event in told] == [1, 2, 3, 4, 5, 6]
    assert [event.kind for event in told] == KINDS
    assert told[3].data == {"text": "x"}
    first, second = stores.journal.journal(key("completed"))
    assert (first.event, first.reply, first.pieces) == (b"{}", b'{"cmd":"infer"}', ("a\n", "b"))
    assert (second.step, second.command, second.event) == (2, "open", None)
    (part,) = stores.journal.parts(RUNNING)
    assert part == replace(PART, step=2, number=1)


def test_deliveries_are_in_the_outbox(stores: Stores) -> None:
    (delivered,) = stores.outbox.of(key("completed"))
    assert (delivered.topic, delivered.state) == (Topic.CALLBACK, DeliveryState.DELIVERED)
    assert [(one.number, one.status) for one in delivered.attempts] == [(1, 500), (2, 204)]
    assert stores.outbox.of(key("cancelled"))[0].state is DeliveryState.ABANDONED
    (due,) = stores.outbox.due(Topic.CALLBACK, START + timedelta(days=2), each_max=9)
    assert (due.key, due.attempts[0].reason) == (key("failed"), "no answer")
    assert stores.outbox.pending(Topic.CALLBACK) == 1


def test_what_ran_is_taken_over_and_goes_on_in_its_place(stores: Stores) -> None:
    (taken,) = stores.jobs.recover()
    assert (taken.key, taken.crashes, taken.progress) == (RUNNING, 1, "half")
    assert [claimed(stores).id for _ in range(3)] == ["urgent", "running", "queued"]
    again = kept(stores, RUNNING)
    stores.journal.record(again.fence, replace(ENTRY, step=2))
    assert not stores.journal.parts(RUNNING)


def test_an_idempotency_key_finds_its_job(stores: Stores) -> None:
    again = replace(job("new"), request_sha256="request of completed")
    found = stores.jobs.insert(again, waiting_max=9, idempotency_key="nightly").result()
    assert found.key == key("completed")


def test_new_jobs_go_behind_those_that_wait_and_ids_belong_to_tenants(stores: Stores) -> None:
    theirs = replace(job("queued"), tenant="blue")
    assert stores.jobs.insert(theirs, waiting_max=9).result() == theirs
    assert stores.jobs.position(theirs.key) == 0


def test_all_events_are_in_one_order_and_each_job_in_its_own(stores: Stores) -> None:
    page = stores.events.read_all(None, EventFilter(), limit=99)
    numbers: dict[JobKey, list[int]] = {}
    for logged in page.events:
        assert logged.event is not None
        numbers.setdefault(logged.key, []).append(logged.event.number)
    assert {one.id: len(told) for one, told in numbers.items()} == {
        "completed": 6, "failed": 4, "cancelled": 3, "running": 3, "queued": 1, "urgent": 1,
    }  # fmt: skip
    assert all(told == list(range(1, len(told) + 1)) for told in numbers.values())


def test_forgetting_a_job_takes_all_of_it_along(stores: Stores, folder: Path) -> None:
    assert stores.jobs.forget(key("completed"))
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        assert not connection.execute("pragma foreign_key_check").fetchall()
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        (left,) = connection.execute("select count(*) from outbox_attempts").fetchone()
    assert left == 2


def test_a_folder_that_no_host_has_brought_to_this_version_is_not_replayed_from(
    folder: Path,
) -> None:
    with pytest.raises(OperatorError, match=f"version 3, and version {SCHEMA_VERSION} is read"):
        recorded_in(folder, "completed")
