"""The watchdog: what is due expires, what is not watched any more does not."""

import threading
from collections.abc import Iterator

import pytest

from bounds import scaled
from cuttlebone.commands.budget import Budget
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.job_options import Limits

BOUND_S = scaled(10)


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    with Watchdog() as dog:
        yield dog


def test_a_watched_budget_expires(watchdog: Watchdog) -> None:
    budget, expired = Budget(Limits(time_ms=20)), threading.Event()

    with budget.when_stopped(expired.set), watchdog.watch(budget):
        assert expired.wait(BOUND_S)


def test_a_short_budget_expires_beside_a_long_one(watchdog: Watchdog) -> None:
    long, short, expired = Budget(Limits()), Budget(Limits(time_ms=20)), threading.Event()

    with watchdog.watch(long), short.when_stopped(expired.set), watchdog.watch(short):
        assert expired.wait(BOUND_S)

    assert long.end is None


def test_a_budget_that_is_not_watched_any_more_does_not_expire(watchdog: Watchdog) -> None:
    left, other, expired = (
        Budget(Limits(time_ms=20)),
        Budget(Limits(time_ms=200)),
        threading.Event(),
    )
    with watchdog.watch(left):
        pass
    with other.when_stopped(expired.set), watchdog.watch(other):
        assert expired.wait(BOUND_S)

    assert left.end is None
