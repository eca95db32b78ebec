"""The delivery log: one suite over both stores."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState
from cuttlebone.job.job import now
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.sqlite import SqliteJobStore
from store.stores import DONE, job

URL = "https://hooks.example.org/a"
HOUR = timedelta(hours=1)


def ended(store: JobStore, name: str) -> Delivery:
    store.accept(replace(job(name), callback_url=URL), waiting_max=100).result()
    store.finish(name, attempt=0, envelope=DONE, accounting=None)
    (delivery,) = store.deliveries.of(name)
    return delivery


def attempt(number: int, reason: str = "") -> Attempt:
    moment = now()
    return Attempt(number, moment, None if reason else 204, reason, 5)


def test_a_job_with_a_callback_has_a_delivery_once_it_has_ended(store: JobStore) -> None:
    store.accept(replace(job("a"), callback_url=URL), waiting_max=9).result()
    assert store.deliveries.of("a") in ([], ())
    store.finish("a", attempt=0, envelope=DONE, accounting=None)
    (delivery,) = store.deliveries.of("a")
    assert (delivery.job_id, delivery.url, delivery.state) == ("a", URL, DeliveryState.PENDING)
    assert list(store.deliveries.due(now(), limit=9)) == [delivery]
    assert store.deliveries.pending() == 1


def test_a_job_without_a_callback_has_none(store: JobStore) -> None:
    store.accept(job("a"), waiting_max=9).result()
    store.finish("a", attempt=0, envelope=DONE, accounting=None)
    assert not store.deliveries.of("a")
    assert not store.deliveries.due(now(), limit=9)


def test_an_attempt_that_failed_is_due_again_only_when_it_is_time(store: JobStore) -> None:
    delivery, later = ended(store, "a"), now() + HOUR
    store.deliveries.note(delivery, attempt(1, "status 500"), next_attempt_at=later)
    assert not store.deliveries.due(now(), limit=9)
    (due,) = store.deliveries.due(later, limit=9)
    assert [one.reason for one in due.attempts] == ["status 500"]
    assert due.next_attempt_at == later


@pytest.mark.parametrize(
    ("reason", "state"), [("", DeliveryState.DELIVERED), ("gone", DeliveryState.ABANDONED)]
)
def test_what_arrived_or_was_given_up_is_due_no_more(
    store: JobStore, reason: str, state: DeliveryState
) -> None:
    store.deliveries.note(ended(store, "a"), attempt(1, reason), next_attempt_at=None)
    (kept,) = store.deliveries.of("a")
    assert (kept.state, kept.next_attempt_at, len(kept.attempts)) == (state, None, 1)
    assert not store.deliveries.due(now() + HOUR, limit=9)
    assert store.deliveries.pending() == 0


def test_the_longest_due_come_first_and_no_more_than_asked_for(store: JobStore) -> None:
    for name in ("a", "b", "c"):
        ended(store, name)
    (first,) = store.deliveries.of("a")
    again_at = now() + timedelta(milliseconds=1)
    store.deliveries.note(first, attempt(1, "busy"), next_attempt_at=again_at)
    later = now() + HOUR
    assert [one.job_id for one in store.deliveries.due(later, limit=9)] == ["b", "c", "a"]
    assert len(store.deliveries.due(later, limit=2)) == 2


def test_a_delivery_goes_with_its_job_and_a_late_attempt_adds_nothing(store: JobStore) -> None:
    delivery = ended(store, "a")
    store.forget("a")
    store.deliveries.note(delivery, attempt(1), next_attempt_at=None)
    assert not store.deliveries.of("a")
    assert store.deliveries.pending() == 0


def test_the_durable_log_survives_a_restart(tmp_path: Path) -> None:
    before = SqliteJobStore(tmp_path)
    delivery, later = ended(before, "a"), now() + HOUR
    before.deliveries.note(delivery, attempt(1, "busy"), next_attempt_at=later)
    (kept,) = before.deliveries.of("a")
    before.close()
    after = SqliteJobStore(tmp_path)
    assert list(after.deliveries.due(later, limit=9)) == [kept]
    after.close()
