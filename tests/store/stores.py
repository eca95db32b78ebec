"""Jobs, and what is done to them in a store, for the tests of stores."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import TENANT, Accounting, Fence, Job, JobKey
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job_options import Limits
from cuttlebone.store.leases import OWNER_NAME
from cuttlebone.store.memory import MemoryState, open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Completed, Failed, Failure, Json, Usage

DONE = Completed(result=2**70, usage=Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="m"))
LOST = Failed(
    error=Failure(code="no_luck", message="it was not my day"),
    usage=Usage(tokens_in=0, tokens_out=0, duration_ms=0, model=""),
)
SPENT = Accounting(
    queue_ms=1,
    guest_ms=2,
    infer_ms=3,
    infer_wait_ms=4,
    host_ms=5,
    steps=6,
    memory_bytes_peak=7,
    fuel=9,
    tokens_cached=8,
)

BOUND_S = scaled(10.0)
START = datetime(2026, 1, 1, tzinfo=UTC)


def job(name: str, tenant: str = TENANT) -> Job:
    return Job(
        id=name,
        spec="echo",
        input=b'{"big":%d}' % 2**70,
        limits=Limits(),
        labels={"team": "sepia"},
        created_at=START,
        request_sha256=f"request of {name}",
        tenant=tenant,
    )


def key(name: str, tenant: str = TENANT) -> JobKey:
    return JobKey(tenant, name)


def insert(stores: Stores, *names: str) -> None:
    for name in names:
        stores.jobs.insert(job(name), waiting_max=100).result()


def claimed(stores: Stores) -> Job:
    found = stores.jobs.claim()
    assert found is not None
    return found


def append(stores: Stores, running: Job, kind: EventKind, data: Json) -> None:
    """Add an event and wait until it can be read."""
    told = threading.Event()
    with stores.events.subscribe(running.key, told.set):
        stores.events.append(running.fence, kind, data)
        assert told.wait(BOUND_S)


def settle(stores: Stores) -> None:
    """Wait until all that was asked for before is written: a change that is answered comes after it."""
    stores.jobs.forget(key("nobody"))


def fence(stores: Stores, name: str, attempt: int | None = None, tenant: str = TENANT) -> Fence:
    """That of a job as it stands, or of another attempt at it."""
    found = stores.jobs.status(key(name, tenant))
    assert found is not None
    return found.fence if attempt is None else found.fence._replace(attempt=attempt)


def finish(stores: Stores, name: str, attempt: int | None = None, tenant: str = TENANT) -> bool:
    wanted = fence(stores, name, attempt, tenant)
    return stores.jobs.finish(wanted, envelope=DONE, accounting=SPENT)


ENTRY = JournalEntry(
    step=1,
    tokens_in=5,
    tokens_out=6,
    command="infer",
    command_sha256="c",
    event_sha256="e",
    event=b"{}",
    pieces=("a\n", "b"),
)

PART = JournalPart(step=1, number=0, command_sha256="c", result=b'{"text":"a"}')
"""One generation of an `infer_many` that is the first step."""


class Clock:
    """A clock that stands until it is moved on."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment

    def move_on(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class Lives:
    """Stores over the same jobs, under one clock: those of several owners, or lives of one."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.clock = Clock()
        self._folder = folder
        self._state = MemoryState(clock=self.clock) if kind == "memory" else None
        self._open: list[Stores] = []

    def begin(self, owner: str = OWNER_NAME) -> Stores:
        if self._state is None:
            begun = open_sqlite_stores(self._folder, owner=owner, clock=self.clock)
        else:
            begun = open_memory_stores(kept_max=100, owner=owner, state=self._state)
        self._open.append(begun)
        return begun

    def another_folder(self) -> Path:
        """A place for jobs that these stores know nothing of."""
        return self._folder / "another"

    def end(self, life: Stores) -> None:
        self._open.remove(life)
        life.close()

    def end_all(self) -> None:
        for life in tuple(self._open):
            self.end(life)


@pytest.fixture(params=["memory", "sqlite"])
def lives(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lives]:
    made = Lives(request.param, tmp_path)
    yield made
    made.end_all()


@pytest.fixture
def stores(lives: Lives) -> Stores:
    return lives.begin()
