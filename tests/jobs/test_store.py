"""The job store: one suite for every implementation of the protocol."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cuttlebone.jobs.events import EventKind
from cuttlebone.jobs.job import Accounting, Job, JobFilter
from cuttlebone.jobs.store import JobStore
from cuttlebone.jobs.store_memory import MemoryJobStore
from cuttlebone.settings import Limits
from cuttlebone_abi import Completed, JobStatus, Usage

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

MakeStore = Callable[[], JobStore]


@pytest.fixture(params=["memory"])
def store(request: pytest.FixtureRequest) -> JobStore:
    makers: dict[str, MakeStore] = {"memory": lambda: MemoryJobStore(kept_max=3)}
    return makers[request.param]()


def job(name: str, **changes: str) -> Job:
    made = Job(
        id=name,
        spec="echo",
        input={"big": 2**70},
        limits=Limits(),
        labels={},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # only text fields are changed here


def accept(store: JobStore, *names: str) -> None:
    for name in names:
        assert store.accept(job(name), waiting_max=100)


def finish(store: JobStore, name: str, attempt: int = 1) -> bool:
    return store.finish(name, attempt=attempt, envelope=DONE, accounting=SPENT)


def test_an_accepted_job_is_there_as_it_was_given(store: JobStore) -> None:
    accept(store, "a")

    assert store.get("a") == job("a")
    assert store.get("b") is None


def test_a_full_queue_accepts_nothing(store: JobStore) -> None:
    accept(store, "a")

    assert not store.accept(job("b"), waiting_max=1)
    assert (store.get("b"), store.waiting()) == (None, 1)


def test_the_oldest_job_is_claimed_first(store: JobStore) -> None:
    accept(store, "a", "b")

    first, second, third = store.claim(), store.claim(), store.claim()

    assert first is not None
    assert second is not None
    assert (first.id, second.id, third) == ("a", "b", None)
    assert (first.status, first.attempt) == (JobStatus.RUNNING, 1)
    assert first.started_at is not None


def test_a_queued_job_knows_its_place(store: JobStore) -> None:
    accept(store, "a", "b", "c")
    store.claim()

    assert [store.position(name) for name in "abc"] == [None, 0, 1]


def test_a_final_job_has_its_envelope_and_its_last_event(store: JobStore) -> None:
    accept(store, "a")
    store.claim()

    assert finish(store, "a")

    ended = store.get("a")
    assert ended is not None
    assert (ended.status, ended.envelope, ended.accounting) == (JobStatus.COMPLETED, DONE, SPENT)
    last = store.events("a", after=0, limit=100)[-1]
    assert (last.kind, last.data["result"]) == (EventKind.RESULT, 2**70)


def test_a_job_ends_once(store: JobStore) -> None:
    accept(store, "a")
    store.claim()

    assert [finish(store, "a"), finish(store, "a")] == [True, False]


def test_an_attempt_that_is_over_cannot_end_the_job(store: JobStore) -> None:
    accept(store, "a")
    store.claim()

    assert not finish(store, "a", attempt=0)


def test_a_job_that_ends_while_queued_is_never_claimed(store: JobStore) -> None:
    accept(store, "a", "b")

    assert finish(store, "a", attempt=0)

    claimed = store.claim()
    assert claimed is not None
    assert claimed.id == "b"


def test_a_cancel_marks_only_what_is_not_final(store: JobStore) -> None:
    accept(store, "a", "b")
    store.claim()
    finish(store, "a")

    ended, waiting = store.request_cancel("a"), store.request_cancel("b")

    assert ended is not None
    assert waiting is not None
    assert (ended.cancel_requested, waiting.cancel_requested) == (False, True)
    assert store.request_cancel("none") is None


def test_events_are_numbered_from_1_and_read_from_any_number(store: JobStore) -> None:
    accept(store, "a")
    store.claim()
    for value in range(5):
        store.append("a", EventKind.PROGRESS, value)

    read = store.events("a", after=3, limit=3)

    assert [(event.number, event.data) for event in read] == [(4, 1), (5, 2), (6, 3)]
    assert store.events("none", after=0, limit=3) == []


def test_the_last_progress_stands_on_the_job(store: JobStore) -> None:
    accept(store, "a")
    store.claim()
    store.append("a", EventKind.PROGRESS, {"page": 1})
    store.append("a", EventKind.TOKEN, {"text": "x"})

    found = store.get("a")
    assert found is not None
    assert found.progress == {"page": 1}


def test_listings_are_newest_first_and_go_on_behind_the_last_one(store: JobStore) -> None:
    accept(store, *"abcd")

    first = store.find(JobFilter(limit=2))
    rest = store.find(JobFilter(limit=9, before=first[-1].id))

    assert [one.id for one in (*first, *rest)] == ["d", "c", "b", "a"]


def test_listings_are_filtered(store: JobStore) -> None:
    accept(store, "a", "b")
    store.accept(replace(job("c"), spec="other", labels={"team": "x"}), waiting_max=9)
    store.claim()

    def ids(wanted: JobFilter) -> list[str]:
        return [one.id for one in store.find(wanted)]

    assert ids(JobFilter(status=JobStatus.RUNNING)) == ["a"]
    assert ids(JobFilter(spec="other")) == ["c"]
    assert ids(JobFilter(label=("team", "x"))) == ["c"]
    assert ids(JobFilter(label=("team", "y"))) == []


def test_the_oldest_finished_jobs_are_forgotten(store: JobStore) -> None:
    accept(store, *"abcde")
    for name in "abcd":
        store.claim()
        finish(store, name)

    assert [store.get(name) is None for name in "abcde"] == [True, False, False, False, False]
