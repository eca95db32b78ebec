"""What follows from the end of a job; one suite for every implementation."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState, Topic
from cuttlebone.job.job import now
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from store.stores import finish, job, key

URL = "https://hooks.example.org/a"
HOUR = timedelta(hours=1)


def ended(stores: Stores, name: str, url: str = URL) -> Delivery:
    stores.jobs.insert(replace(job(name), callback_url=url), waiting_max=100).result()
    finish(stores, name)
    (delivery,) = stores.outbox.of(key(name))
    return delivery


def attempt(number: int, reason: str = "") -> Attempt:
    moment = now()
    return Attempt(number, moment, None if reason else 204, reason, 5)


def test_a_job_with_a_callback_has_a_delivery_once_it_has_ended(stores: Stores) -> None:
    stores.jobs.insert(replace(job("a"), callback_url=URL), waiting_max=9).result()
    assert stores.outbox.of(key("a")) in ([], ())
    finish(stores, "a")
    (delivery,) = stores.outbox.of(key("a"))
    assert (delivery.key, delivery.topic) == (key("a"), Topic.CALLBACK)
    assert delivery.state is DeliveryState.PENDING
    assert list(stores.outbox.due(Topic.CALLBACK, now(), each_max=9)) == [delivery]
    assert stores.outbox.pending(Topic.CALLBACK) == 1


def test_a_job_without_a_callback_has_none(stores: Stores) -> None:
    stores.jobs.insert(job("a"), waiting_max=9).result()
    finish(stores, "a")
    assert not stores.outbox.of(key("a"))
    assert not stores.outbox.due(Topic.CALLBACK, now(), each_max=9)


def test_an_attempt_that_failed_is_due_again_only_when_it_is_time(stores: Stores) -> None:
    delivery, later = ended(stores, "a"), now() + HOUR
    stores.outbox.note(delivery, attempt(1, "status 500"), next_attempt_at=later)
    assert not stores.outbox.due(Topic.CALLBACK, now(), each_max=9)
    (due,) = stores.outbox.due(Topic.CALLBACK, later, each_max=9)
    assert [one.reason for one in due.attempts] == ["status 500"]
    assert due.next_attempt_at == later


@pytest.mark.parametrize(
    ("reason", "state"), [("", DeliveryState.DELIVERED), ("gone", DeliveryState.ABANDONED)]
)
def test_what_arrived_or_was_given_up_is_due_no_more(
    stores: Stores, reason: str, state: DeliveryState
) -> None:
    stores.outbox.note(ended(stores, "a"), attempt(1, reason), next_attempt_at=None)
    (kept,) = stores.outbox.of(key("a"))
    assert (kept.state, kept.next_attempt_at, len(kept.attempts)) == (state, None, 1)
    assert not stores.outbox.due(Topic.CALLBACK, now() + HOUR, each_max=9)
    assert stores.outbox.pending(Topic.CALLBACK) == 0


def test_the_longest_due_come_first_and_no_more_than_asked_for(stores: Stores) -> None:
    for name in ("a", "b", "c"):
        ended(stores, name)
    (first,) = stores.outbox.of(key("a"))
    again_at = now() + timedelta(milliseconds=1)
    stores.outbox.note(first, attempt(1, "busy"), next_attempt_at=again_at)
    later = now() + HOUR
    assert [one.key.id for one in stores.outbox.due(Topic.CALLBACK, later, each_max=9)] == [
        "b",
        "c",
        "a",
    ]
    assert len(stores.outbox.due(Topic.CALLBACK, later, each_max=2)) == 2


def test_however_much_one_receiver_has_what_is_due_to_others_is_seen(stores: Stores) -> None:
    for number in range(5):
        ended(stores, f"slow-{number}", "https://slow.example.org/a")
    ended(stores, "other", "https://other.example.org/b?c")
    ended(stores, "port", "https://slow.example.org:8443/a")

    due = stores.outbox.due(Topic.CALLBACK, now(), each_max=2)

    assert [one.key.id for one in due] == ["slow-0", "slow-1", "other", "port"]
    assert [one.receiver for one in due[1:3]] == [
        "https://slow.example.org",
        "https://other.example.org",
    ]


def test_a_delivery_goes_with_its_job_and_a_late_attempt_adds_nothing(stores: Stores) -> None:
    delivery = ended(stores, "a")
    stores.jobs.forget(key("a"))
    stores.outbox.note(delivery, attempt(1), next_attempt_at=None)
    assert not stores.outbox.of(key("a"))
    assert stores.outbox.pending(Topic.CALLBACK) == 0


def test_the_durable_log_survives_a_restart(tmp_path: Path) -> None:
    before = open_sqlite_stores(tmp_path)
    delivery, later = ended(before, "a"), now() + HOUR
    before.outbox.note(delivery, attempt(1, "busy"), next_attempt_at=later)
    (kept,) = before.outbox.of(key("a"))
    before.close()
    after = open_sqlite_stores(tmp_path)
    assert list(after.outbox.due(Topic.CALLBACK, later, each_max=9)) == [kept]
    after.close()
