"""What the number of kept jobs and the size of an input change: ends in memory, and a watcher's look."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Fence, Job, JobKey, now
from cuttlebone.job_options import Limits
from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Completed, Usage
from report import Row, at_most_times

ROUNDS: Final = 400
DONE: Final = Completed(
    result=None, usage=Usage(tokens_in=0, tokens_out=0, duration_ms=0, model="")
)
JOB: Final = Job(
    id="job", spec="echo", input=b'{"path": "a"}', limits=Limits(), labels={}, created_at=now()
)


def kept_jobs_costs() -> Iterator[Row]:
    """One end of a job in memory, with few and with many finished ones that are kept."""
    few = Row("finish_10_kept_us", _finish_us(10), "us")
    yield few
    yield at_most_times("finish_10000_kept_us", _finish_us(10_000), "us", few, 2)
    few = Row("memory_claim_10_waiting_us", _claim_us(10), "us")
    yield few
    yield at_most_times("memory_claim_10000_waiting_us", _claim_us(10_000), "us", few, 2)


def look_costs() -> Iterator[Row]:
    """What one look at a running job takes that somebody follows, with a small and a large input."""
    small = Row("look_65_b_us", _look_us(65), "us")
    yield small
    yield at_most_times("look_57_kb_us", _look_us(57_000), "us", small, 3)


def _finish_us(kept: int) -> float:
    stores = open_memory_stores(kept_max=kept)
    for number in range(kept):
        fence = _started(stores, f"kept-{number}")
        stores.jobs.finish(fence, envelope=DONE, accounting=None)
    times_s = []
    for number in range(ROUNDS):
        fence = _started(stores, f"job-{number}")
        began_s = time.perf_counter()
        stores.jobs.finish(fence, envelope=DONE, accounting=None)
        times_s.append(time.perf_counter() - began_s)
    return 1e6 * median(times_s)


def _claim_us(waiting: int) -> float:
    stores = open_memory_stores(kept_max=1)
    for number in range(waiting):
        _insert(stores, f"waiting-{number}")
    times_s = []
    for number in range(ROUNDS):
        _insert(stores, f"job-{number}")
        began_s = time.perf_counter()
        stores.jobs.claim(tenant_running_max=ROUNDS)
        times_s.append(time.perf_counter() - began_s)
    return 1e6 * median(times_s)


def _insert(stores: Stores, name: str) -> None:
    key = f"key of {name}"
    job = replace(JOB, id=name)
    stores.jobs.insert(job, waiting_max=1_000_000, idempotency_key=key).result()


def _started(stores: Stores, name: str) -> Fence:
    _insert(stores, name)
    running = stores.jobs.claim()
    assert running is not None
    return running.fence


def _look_us(input_bytes: int) -> float:
    with TemporaryDirectory() as folder:
        stores = open_sqlite_stores(Path(folder))
        job = replace(JOB, input=b'"%s"' % (b"x" * (input_bytes - 2)))
        stores.jobs.insert(job, waiting_max=1).result()
        running = stores.jobs.claim()
        assert running is not None
        with stores.events.subscribe(job.key, lambda: None):
            stores.events.append(running.fence, EventKind.TOKEN, {"text": "x"})
            stores.jobs.renew()  # returns after the event
            found_us = _median_us(lambda: _look(stores, job.key))
        stores.close()
    return found_us


def _look(stores: Stores, key: JobKey) -> None:
    """As the event stream looks: for what is new, and where there is nothing for the end."""
    assert not stores.events.read(key, after=3, limit=100)
    found = stores.jobs.status(key)
    assert found is not None
    assert not found.status.final


def _median_us(call: Callable[[], None]) -> float:
    times_s = []
    for _ in range(5 * ROUNDS):
        began_s = time.perf_counter()
        call()
        times_s.append(time.perf_counter() - began_s)
    return 1e6 * median(times_s)
