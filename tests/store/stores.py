"""Jobs, and what is done to them in a store, for the tests of stores."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Accounting, Job
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job_options import Limits
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.memory.jobs import MemoryJobStore
from cuttlebone.store.sqlite import SqliteJobStore
from cuttlebone_abi import Completed, Json, Usage

DONE = Completed(result=2**70, usage=Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="m"))
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

BOUND_S = 10.0
START = datetime(2026, 1, 1, tzinfo=UTC)


def job(name: str) -> Job:
    return Job(
        id=name,
        spec="echo",
        input=b'{"big":%d}' % 2**70,
        limits=Limits(),
        labels={"team": "sepia"},
        created_at=START,
        request_sha256=f"request of {name}",
    )


def accept(store: JobStore, *names: str) -> None:
    for name in names:
        store.accept(job(name), waiting_max=100).result()


def claimed(store: JobStore) -> Job:
    found = store.claim()
    assert found is not None
    return found


def append(store: JobStore, running: Job, kind: EventKind, data: Json) -> None:
    done = threading.Event()
    store.append(running, kind, data, after=done.set)
    assert done.wait(BOUND_S)


def finish(store: JobStore, name: str, attempt: int = 1) -> bool:
    return store.finish(name, attempt=attempt, envelope=DONE, accounting=SPENT)


def of_tenant(name: str, tenant: str) -> Job:
    return replace(job(name), tenant=tenant)


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


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    makers: dict[str, Callable[[], JobStore]] = {
        "memory": lambda: MemoryJobStore(kept_max=100),
        "sqlite": lambda: SqliteJobStore(tmp_path),
    }
    made = makers[request.param]()
    yield made
    made.close()
