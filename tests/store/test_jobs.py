"""How jobs end in a store, are listed and forgotten; one suite for every implementation."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cuttlebone.job.events import EventKind
from cuttlebone.job.job_filter import LIVE, JobFilter
from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.stores import Stores
from cuttlebone_abi import JobStatus
from store.stores import (
    DONE,
    ENTRY,
    LOST,
    PART,
    SPENT,
    START,
    append,
    claimed,
    fence,
    finish,
    insert,
    job,
    key,
)


def test_a_final_job_has_its_envelope_and_its_last_event(stores: Stores) -> None:
    insert(stores, "a")
    stores.jobs.claim()

    assert finish(stores, "a")

    ended = stores.jobs.get(key("a"))
    assert ended is not None
    assert (ended.status, ended.envelope, ended.accounting) == (JobStatus.COMPLETED, DONE, SPENT)
    last = stores.events.read(key("a"), after=0, limit=100)[-1]
    assert (last.kind, last.data["result"]) == (EventKind.RESULT, 2**70)


def test_a_job_ends_once(stores: Stores) -> None:
    insert(stores, "a")
    stores.jobs.claim()

    assert [finish(stores, "a"), finish(stores, "a")] == [True, False]


def test_an_attempt_that_is_over_cannot_end_the_job(stores: Stores) -> None:
    insert(stores, "a")
    stores.jobs.claim()

    assert not finish(stores, "a", attempt=0)


def test_a_job_that_ends_while_queued_is_never_claimed(stores: Stores) -> None:
    insert(stores, "a", "b")

    assert finish(stores, "a", attempt=0)

    claimed = stores.jobs.claim()
    assert claimed is not None
    assert claimed.id == "b"


def test_a_cancel_marks_only_what_is_not_final(stores: Stores) -> None:
    insert(stores, "a", "b")
    stores.jobs.claim()
    finish(stores, "a")

    ended, waiting = stores.jobs.request_cancel(key("a")), stores.jobs.request_cancel(key("b"))

    assert ended is not None
    assert waiting is not None
    assert (ended.cancel_requested, waiting.cancel_requested) == (False, True)
    assert stores.jobs.request_cancel(key("none")) is None


def test_listings_are_newest_first_and_go_on_behind_the_last_one(stores: Stores) -> None:
    insert(stores, *"abcd")

    first = stores.jobs.find(JobFilter(limit=2))
    rest = stores.jobs.find(JobFilter(limit=9, before=first[-1].number))

    assert [one.id for one in (*first, *rest)] == ["d", "c", "b", "a"]


def test_a_listing_goes_on_where_it_was_though_the_last_job_is_forgotten(stores: Stores) -> None:
    insert(stores, *"abc")
    claimed(stores)
    claimed(stores)
    seen = stores.jobs.find(JobFilter(limit=2))[-1]

    finish(stores, "b")
    assert (seen.id, stores.jobs.forget(key("b"))) == ("b", True)

    assert [one.id for one in stores.jobs.find(JobFilter(before=seen.number))] == ["a"]


def test_what_a_tenant_stores_grows_with_its_jobs_and_goes_with_them(stores: Stores) -> None:
    stores.jobs.insert(job("a", "x"), waiting_max=9).result()
    accepted = stores.jobs.stored_bytes("x")
    append(stores, claimed(stores), EventKind.TOKEN, {"text": "x" * 1000})
    grown = stores.jobs.stored_bytes("x")
    finish(stores, "a", tenant="x")
    stores.jobs.forget(key("a", "x"))

    assert 0 < accepted < grown - 1000
    assert (stores.jobs.stored_bytes("x"), stores.jobs.stored_bytes("y")) == (0, 0)


def test_parts_of_a_journal_count_as_stored_until_the_whole_is_there(stores: Stores) -> None:
    stores.jobs.insert(job("a", "x"), waiting_max=9).result()
    running = claimed(stores)
    before = stores.jobs.stored_bytes("x")
    stores.journal.record_part(running.fence, PART)

    assert stores.jobs.stored_bytes("x") > before


def test_listings_are_filtered(stores: Stores) -> None:
    insert(stores, "a", "b")
    stores.jobs.insert(
        replace(job("c"), spec="other", labels={"team": "x"}), waiting_max=9
    ).result()
    stores.jobs.claim()

    def ids(wanted: JobFilter) -> list[str]:
        return [one.id for one in stores.jobs.find(wanted)]

    assert ids(JobFilter(statuses=frozenset({JobStatus.RUNNING}))) == ["a"]
    assert ids(JobFilter(specs=frozenset({"other"}))) == ["c"]
    assert ids(JobFilter(labels={"team": "x"})) == ["c"]
    assert ids(JobFilter(labels={"team": "y"})) == []


@pytest.fixture
def filled(stores: Stores) -> Stores:
    """`done` and `lost` have ended, `on` runs, `off` and `new` wait; all but `new` are of one team."""
    for second, name in enumerate(("done", "lost", "on", "off", "new")):
        labels = {"team": "x", "name": name} if name != "new" else {}
        created = START + timedelta(seconds=second)
        one = replace(job(name), labels=labels, created_at=created)
        stores.jobs.insert(one, waiting_max=9).result()
    for _ in range(3):
        claimed(stores)
    finish(stores, "done")
    stores.jobs.finish(fence(stores, "lost"), envelope=LOST, accounting=None)
    return stores


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (JobFilter(), ["new", "off", "on", "lost", "done"]),
        (JobFilter(statuses=LIVE), ["new", "off", "on"]),
        (JobFilter(statuses=LIVE, labels={"team": "x"}), ["off", "on"]),
        (JobFilter(labels={"team": "x", "name": "on"}), ["on"]),
        (JobFilter(labels={"team": "x", "name": "new"}), []),
        (JobFilter(specs=frozenset({"echo", "other"}), labels={"name": "on"}), ["on"]),
        (JobFilter(created_after=START + timedelta(seconds=3)), ["new"]),
        (JobFilter(created_before=START + timedelta(seconds=1)), ["done"]),
        (JobFilter(error_code="no_luck"), ["lost"]),
        (JobFilter(error_code="timeout"), []),
        (JobFilter(tenant="y"), []),
    ],
)
def test_what_a_filter_means_is_listed_and_counted(
    filled: Stores, wanted: JobFilter, names: list[str]
) -> None:
    assert [one.id for one in filled.jobs.find(wanted)] == names
    assert filled.jobs.count(replace(wanted, limit=1)) == len(names)


def test_all_that_a_filter_means_are_marked_once(filled: Stores) -> None:
    of_team = JobFilter(labels={"team": "x"})

    marked = filled.jobs.request_cancel_all(of_team)

    assert {row.key.id for row in marked} == {"on", "off"}
    assert all(row.cancel_requested for row in marked)
    assert filled.jobs.request_cancel_all(of_team) == []
    left = filled.jobs.status(key("new"))
    assert left is not None
    assert not left.cancel_requested


def test_no_more_are_marked_or_wiped_at_once_than_the_limit(filled: Stores) -> None:
    one = JobFilter(limit=1)

    assert [len(filled.jobs.request_cancel_all(one)) for _ in range(4)] == [1, 1, 1, 0]
    assert [filled.jobs.forget_all(one) for _ in range(3)] == [1, 1, 0]


def test_several_that_wait_end_in_one_commit(filled: Stores) -> None:
    gone = fence(filled, "on")._replace(attempt=0)
    woken: list[None] = []
    with filled.events.subscribe(key("off"), lambda: woken.append(None)):
        ended = filled.jobs.finish_all(
            [fence(filled, "off"), gone, fence(filled, "new")], envelope=LOST
        )

    assert list(ended) == [True, False, True]
    assert [one.id for one in filled.jobs.find(JobFilter(error_code="no_luck"))] == [
        "new",
        "off",
        "lost",
    ]
    assert woken
    assert filled.jobs.waiting() == 0


def test_only_what_has_ended_is_wiped_with_all_that_a_filter_means(filled: Stores) -> None:
    assert filled.jobs.forget_all(JobFilter(statuses=LIVE)) == 0
    assert filled.jobs.forget_all(JobFilter(labels={"team": "x"})) == 2
    assert [one.id for one in filled.jobs.find(JobFilter())] == ["new", "off", "on"]


def test_a_final_job_can_be_forgotten_with_all_that_belongs_to_it(stores: Stores) -> None:
    stores.jobs.insert(job("a"), waiting_max=9, idempotency_key="k").result()
    running = claimed(stores)
    stores.journal.record(running.fence, ENTRY)
    assert not stores.jobs.forget(key("a"))
    finish(stores, "a")

    assert stores.jobs.forget(key("a"))
    assert stores.jobs.get(key("a")) is None
    assert not stores.events.read(key("a"), after=0, limit=9)
    assert not stores.journal.journal(key("a"))
    assert stores.jobs.insert(job("b"), waiting_max=9, idempotency_key="k").result().id == "b"


def test_jobs_are_forgotten_after_their_time_to_live(stores: Stores) -> None:
    stores.jobs.insert(replace(job("short"), ttl_s=10), waiting_max=9).result()
    stores.jobs.insert(job("default"), waiting_max=9).result()
    insert(stores, "queued")
    for name in ("short", "default"):
        stores.jobs.claim()
        finish(stores, name)
    soon = START + timedelta(seconds=60)

    assert stores.jobs.forget_finished_before(soon, ttl_s=1000) == 1
    assert [stores.jobs.get(key(name)) is None for name in ("short", "default", "queued")] == [
        True,
        False,
        False,
    ]


def test_the_memory_forgets_the_oldest_finished_jobs() -> None:
    stores = open_memory_stores(kept_max=3)
    insert(stores, *"abcde")
    for name in "abcd":
        stores.jobs.claim()
        finish(stores, name)

    assert [stores.jobs.get(key(name)) is None for name in "abcde"] == [
        True,
        False,
        False,
        False,
        False,
    ]
