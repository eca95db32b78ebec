"""A disk that fills up: refusals that say so, nothing accepted is lost, and it goes on by itself.

The disk is a small tmpfs, which only root can mount.
"""

import os
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.hosted import Api, served
from crash.disks import Disk, fill_by_submitting, mounted
from cuttlebone.errors import OperatorError, StoreUnavailable
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import TENANT, JobKey, Submission
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone.testing import Script, ScriptedGuest
from cuttlebone_abi import JobStatus, Json
from guest_scripts import echo
from hosts import BOUND_S, ended, scripted_host, until
from store.store_model import ENVELOPES
from store.stores import claimed, insert, key

Commands = Generator[Json | bytes, dict[str, Any], None]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")

PIECE: Json = {"text": "x" * 2_000}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk") as made:
        yield made


class Gated:
    """A block that reports, waits for the test, reports a lot, and ends."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def __call__(self, guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "emit", "progress": "waiting"}
        while not self.gate.wait(0.01):
            guest._check()
        for number in range(100):
            yield {"cmd": "emit", "progress": number}
        yield {"cmd": "done", "result": "through"}


@pytest.fixture
def gated(disk: Disk, tmp_path: Path) -> Iterator[tuple[Api, Gated]]:
    specs = tmp_path / "specs"
    specs.mkdir()
    script = Gated()
    scripts: dict[str, Script] = {"gated": script, "echo": echo}
    with served(specs, scripts, state=disk.folder, jobs_running_max=1) as api:
        yield api, script


def test_a_submitter_is_refused_and_nothing_accepted_is_missing(
    gated: tuple[Api, Gated], disk: Disk
) -> None:
    api, script = gated
    running = api.submit("gated")
    api.emitted(running, "waiting")
    disk.fill()
    accepted = fill_by_submitting(api.http)
    script.gate.set()
    disk.free()

    assert api.ended(running)["envelope"]["result"] == "through"
    told = api.host.jobs.events(JobKey(TENANT, running["id"]), after=0)
    assert [one.data for one in told if one.kind is EventKind.PROGRESS] == ["waiting", *range(100)]
    for job_id in accepted:
        assert api.ended({"links": {"self": f"/v1/jobs/{job_id}"}})["status"] == "completed"
    assert api.ended(api.submit("echo", 1))["envelope"]["result"] == 1


def test_a_host_with_a_full_disk_can_be_stopped_and_loses_nothing(
    disk: Disk, tmp_path: Path
) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    script = Gated()
    with scripted_host(specs, {"gated": script}, state=disk.folder, jobs_running_max=1) as host:
        running = host.jobs.submit(Submission("gated", None))
        until(host, running, lambda job: job.progress == "waiting")
        queued = host.jobs.submit(Submission("gated", None))
        disk.fill()
        script.gate.set()
    disk.free()

    with scripted_host(specs, {"gated": script}, state=disk.folder) as host:
        for job in (running, queued):
            assert ended(host, job).status is JobStatus.COMPLETED
            told = host.jobs.events(job.key, after=0)
            progress = [one.data for one in told if one.kind is EventKind.PROGRESS]
            assert progress == ["waiting", *range(100)]


def test_a_host_does_not_start_on_a_full_disk(disk: Disk, tmp_path: Path) -> None:
    disk.fill()
    with (
        pytest.raises(OperatorError, match=r"full|No space"),
        scripted_host(tmp_path, {"echo": echo}, state=disk.folder),
    ):
        pytest.fail("it started")


@pytest.fixture
def stores(disk: Disk) -> Iterator[Stores]:
    made = open_sqlite_stores(disk.folder)
    yield made
    made.close()


def in_thread(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_what_a_job_thread_writes_waits_for_room_and_keeps_its_order(
    stores: Stores, disk: Disk
) -> None:
    insert(stores, "a", "b")
    running = claimed(stores)
    disk.fill()
    while True:  # until not even the log of SQLite has room any more
        try:
            stores.jobs.request_cancel(key("b"))
        except StoreUnavailable:
            break
    for number in range(3):
        stores.events.append(running.fence, EventKind.TOKEN, {**PIECE, "n": number})
    ending = in_thread(
        lambda: stores.jobs.finish(running.fence, envelope=ENVELOPES[0], accounting=None)
    )
    with pytest.raises(StoreUnavailable):
        stores.jobs.request_cancel(key("b"))
    disk.free()
    ending.join(BOUND_S)

    kinds = [event.kind for event in stores.events.read(key("a"), after=2, limit=99)]
    assert kinds == [EventKind.TOKEN] * 3 + [EventKind.STATUS, EventKind.RESULT]
