"""How jobs end in a store, are listed and forgotten; one suite for every implementation."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import JobFilter
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.memory.jobs import MemoryJobStore
from cuttlebone_abi import JobStatus
from store.stores import DONE, ENTRY, PART, SPENT, accept, append, claimed, finish, job, of_tenant


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


def test_what_a_tenant_stores_grows_with_its_jobs_and_goes_with_them(store: JobStore) -> None:
    store.accept(of_tenant("a", "x"), waiting_max=9).result()
    accepted = store.stored_bytes("x")
    append(store, claimed(store), EventKind.TOKEN, {"text": "x" * 1000})
    grown = store.stored_bytes("x")
    finish(store, "a")
    store.forget("a")

    assert 0 < accepted < grown - 1000
    assert (store.stored_bytes("x"), store.stored_bytes("y")) == (0, 0)


def test_parts_of_a_journal_count_as_stored_until_the_whole_is_there(store: JobStore) -> None:
    store.accept(of_tenant("a", "x"), waiting_max=9).result()
    running = claimed(store)
    before = store.stored_bytes("x")
    store.record_part(running, PART)

    assert store.stored_bytes("x") > before


def test_listings_are_filtered(store: JobStore) -> None:
    accept(store, "a", "b")
    store.accept(replace(job("c"), spec="other", labels={"team": "x"}), waiting_max=9).result()
    store.claim()

    def ids(wanted: JobFilter) -> list[str]:
        return [one.id for one in store.find(wanted)]

    assert ids(JobFilter(status=JobStatus.RUNNING)) == ["a"]
    assert ids(JobFilter(spec="other")) == ["c"]
    assert ids(JobFilter(label=("team", "x"))) == ["c"]
    assert ids(JobFilter(label=("team", "y"))) == []


def test_a_final_job_can_be_forgotten_with_all_that_belongs_to_it(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9, idempotency_key="k").result()
    running = claimed(store)
    store.record(running, ENTRY)
    assert not store.forget("a")
    finish(store, "a")

    assert store.forget("a")
    assert store.get("a") is None
    assert not store.events("a", after=0, limit=9)
    assert not store.journal("a")
    assert store.accept(job("b"), waiting_max=9, idempotency_key="k").result().id == "b"


def test_jobs_are_forgotten_after_their_time_to_live(store: JobStore) -> None:
    store.accept(replace(job("short"), ttl_s=10), waiting_max=9).result()
    store.accept(job("default"), waiting_max=9).result()
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


def test_the_memory_forgets_the_oldest_finished_jobs() -> None:
    store = MemoryJobStore(kept_max=3)
    accept(store, *"abcde")
    for name in "abcd":
        store.claim()
        finish(store, name)

    assert [store.get(name) is None for name in "abcde"] == [True, False, False, False, False]
