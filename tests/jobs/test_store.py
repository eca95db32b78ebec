"""The job store: one suite for every implementation of the protocol."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.jobs.events import EventKind
from cuttlebone.jobs.job import PRIORITY_LEAD_S, Accounting, Job, JobFilter, Priority
from cuttlebone.jobs.journal import JournalEntry
from cuttlebone.jobs.store import JobStore
from cuttlebone.jobs.store_memory import MemoryJobStore
from cuttlebone.jobs.store_sqlite import SqliteJobStore
from cuttlebone.settings import Limits
from cuttlebone_abi import Completed, JobStatus, Json, Usage

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


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    makers: dict[str, Callable[[], JobStore]] = {
        "memory": lambda: MemoryJobStore(kept_max=100),
        "sqlite": lambda: SqliteJobStore(tmp_path),
    }
    made = makers[request.param]()
    yield made
    made.close()


def job(name: str) -> Job:
    return Job(
        id=name,
        spec="echo",
        input={"big": 2**70},
        limits=Limits(),
        labels={"team": "sepia"},
        created_at=START,
        request_sha256=f"request of {name}",
    )


def accept(store: JobStore, *names: str) -> None:
    for name in names:
        store.accept(job(name), waiting_max=100)


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


def test_an_accepted_job_is_there_as_it_was_given(store: JobStore) -> None:
    accept(store, "a")

    assert store.get("a") == job("a")
    assert store.get("b") is None


def test_a_full_queue_accepts_nothing(store: JobStore) -> None:
    accept(store, "a")

    with pytest.raises(CallerError) as caught:
        store.accept(job("b"), waiting_max=1)

    assert caught.value.code is ProblemCode.QUEUE_FULL
    assert (store.get("b"), store.waiting()) == (None, 1)


def test_an_interactive_job_goes_before_batch_jobs_but_not_before_old_ones(
    store: JobStore,
) -> None:
    old = replace(job("old"), created_at=START - timedelta(seconds=PRIORITY_LEAD_S + 1))
    urgent = replace(job("urgent"), priority=Priority.INTERACTIVE)
    for one in (job("batch"), urgent, old):
        store.accept(one, waiting_max=9)

    assert [claimed(store).id for _ in range(3)] == ["old", "urgent", "batch"]


def test_the_same_request_with_the_same_key_is_the_same_job(store: JobStore) -> None:
    first = store.accept(job("a"), waiting_max=9, idempotency_key="k")
    again = replace(job("b"), request_sha256=first.request_sha256)

    assert store.accept(again, waiting_max=9, idempotency_key="k").id == "a"
    assert store.get("b") is None


def test_another_request_with_the_same_key_is_refused(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k")

    with pytest.raises(CallerError) as caught:
        store.accept(job("b"), waiting_max=9, idempotency_key="k")
    assert caught.value.code is ProblemCode.IDEMPOTENCY_MISMATCH


def test_tenants_do_not_share_keys(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k")
    other = replace(job("b"), tenant="other")

    assert store.accept(other, waiting_max=9, idempotency_key="k").id == "b"


def test_the_same_request_with_the_same_id_is_the_same_job(store: JobStore) -> None:
    accept(store, "a")
    claimed(store)

    assert store.accept(job("a"), waiting_max=9).status is JobStatus.RUNNING


def test_another_request_with_the_same_id_is_refused(store: JobStore) -> None:
    accept(store, "a")

    with pytest.raises(CallerError) as caught:
        store.accept(replace(job("a"), request_sha256="other"), waiting_max=9)
    assert caught.value.code is ProblemCode.JOB_EXISTS


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
    running = claimed(store)
    for value in range(5):
        append(store, running, EventKind.PROGRESS, value)

    read = store.events("a", after=3, limit=3)

    assert [(event.number, event.data) for event in read] == [(4, 1), (5, 2), (6, 3)]
    assert list(store.events("none", after=0, limit=3)) == []


def test_the_last_progress_stands_on_the_job(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    append(store, running, EventKind.PROGRESS, {"page": 1})
    append(store, running, EventKind.TOKEN, {"text": "x"})

    found = store.get("a")
    assert found is not None
    assert found.progress == {"page": 1}


def test_listings_are_newest_first_and_go_on_behind_the_last_one(store: JobStore) -> None:
    accept(store, *"abcd")

    first = store.find(JobFilter(limit=2))
    rest = store.find(JobFilter(limit=9, before=first[-1].number))

    assert [one.id for one in (*first, *rest)] == ["d", "c", "b", "a"]


def test_a_listing_goes_on_where_it_was_though_the_last_job_is_forgotten(store: JobStore) -> None:
    accept(store, *"abc")
    claimed(store)
    claimed(store)
    seen = store.find(JobFilter(limit=2))[-1]

    finish(store, "b")
    assert (seen.id, store.forget("b")) == ("b", True)

    assert [one.id for one in store.find(JobFilter(before=seen.number))] == ["a"]


def of_tenant(name: str, tenant: str) -> Job:
    return replace(job(name), tenant=tenant)


def test_a_tenant_has_only_its_share_of_the_queue(store: JobStore) -> None:
    store.accept(of_tenant("a", "x"), waiting_max=9, tenant_waiting_max=1)

    with pytest.raises(CallerError) as caught:
        store.accept(of_tenant("b", "x"), waiting_max=9, tenant_waiting_max=1)
    store.accept(of_tenant("c", "y"), waiting_max=9, tenant_waiting_max=1)

    assert caught.value.code is ProblemCode.QUOTA_EXCEEDED
    assert caught.value.retry_after_s
    assert store.waiting() == 2


def test_a_tenant_with_enough_jobs_running_is_passed_over(store: JobStore) -> None:
    for one in (of_tenant("a", "x"), of_tenant("b", "x"), of_tenant("c", "y")):
        store.accept(one, waiting_max=9)

    claimed_ids = [one and one.id for one in (store.claim(tenant_running_max=1) for _ in range(3))]
    finish(store, "a")
    freed = store.claim(tenant_running_max=1)

    assert claimed_ids == ["a", "c", None]
    assert freed is not None
    assert freed.id == "b"


def test_what_a_tenant_stores_grows_with_its_jobs_and_goes_with_them(store: JobStore) -> None:
    store.accept(of_tenant("a", "x"), waiting_max=9)
    accepted = store.stored_bytes("x")
    append(store, claimed(store), EventKind.TOKEN, {"text": "x" * 1000})
    grown = store.stored_bytes("x")
    finish(store, "a")
    store.forget("a")

    assert 0 < accepted < grown - 1000
    assert (store.stored_bytes("x"), store.stored_bytes("y")) == (0, 0)


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


def test_large_events_come_in_portions_and_none_is_left_out(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    for number in range(6):
        append(store, running, EventKind.PROGRESS, [number, "x" * (300 << 10)])

    portions = []
    after = 2
    while portion := store.events("a", after=after, limit=100):
        portions.append(portion)
        after = portion[-1].number

    assert [event.number for portion in portions for event in portion] == list(range(3, 9))
    if store.durable:
        assert [len(portion) for portion in portions] == [4, 2]


def test_an_attempt_that_is_over_adds_no_events(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    finish(store, "a")
    before = len(store.events("a", after=0, limit=100))
    store.append(running, EventKind.TOKEN, {"text": "late"}, after=lambda: None)
    accept(store, "b")  # a write that is answered comes after it

    assert len(store.events("a", after=0, limit=100)) == before


def test_events_of_a_kind_are_counted(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    append(store, running, EventKind.PROGRESS, 1)
    append(store, running, EventKind.TOKEN, {"text": "x"})

    assert store.count_events("a", EventKind.PROGRESS) == 1


def test_a_released_job_goes_back_to_its_place_in_the_queue(store: JobStore) -> None:
    accept(store, "a", "b")
    running = claimed(store)
    store.release(running)

    again = claimed(store)
    assert (again.id, again.attempt, again.crashes) == ("a", 2, 0)
    assert not finish(store, "a", attempt=1)


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


def test_the_journal_keeps_entries_in_order(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    first = replace(ENTRY, event=None, pieces=())
    second = replace(ENTRY, step=2)
    store.record(running, first)
    store.record(running, second)

    assert list(store.journal("a")) == [first, second]


def test_an_attempt_that_is_over_records_nothing(store: JobStore) -> None:
    accept(store, "a")
    running = claimed(store)
    store.record(replace(running, attempt=7), ENTRY)

    assert list(store.journal("a")) == []


def test_a_final_job_can_be_forgotten_with_all_that_belongs_to_it(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k")
    running = claimed(store)
    store.record(running, ENTRY)
    assert not store.forget("a")
    finish(store, "a")

    assert store.forget("a")
    assert store.get("a") is None
    assert not store.events("a", after=0, limit=9)
    assert not store.journal("a")
    assert store.accept(job("b"), waiting_max=9, idempotency_key="k").id == "b"


def test_jobs_are_forgotten_after_their_time_to_live(store: JobStore) -> None:
    store.accept(replace(job("short"), ttl_s=10), waiting_max=9)
    store.accept(job("default"), waiting_max=9)
    accept(store, "queued")
    for name in ("short", "default"):
        store.claim()
        finish(store, name)
    soon = datetime.now(UTC) + timedelta(seconds=60)

    assert store.forget_finished_before(soon, ttl_s=1000) == 1
    assert [store.get(name) is None for name in ("short", "default", "queued")] == [
        True,
        False,
        False,
    ]


def test_queued_jobs_that_waited_too_long_are_found(store: JobStore) -> None:
    store.accept(replace(job("a"), expires_at=START), waiting_max=9)
    store.accept(replace(job("b"), expires_at=START + timedelta(days=1)), waiting_max=9)
    accept(store, "c")

    assert [one.id for one in store.expired(START)] == ["a"]


def test_the_memory_forgets_the_oldest_finished_jobs() -> None:
    store = MemoryJobStore(kept_max=3)
    accept(store, *"abcde")
    for name in "abcd":
        store.claim()
        finish(store, name)

    assert [store.get(name) is None for name in "abcde"] == [True, False, False, False, False]
