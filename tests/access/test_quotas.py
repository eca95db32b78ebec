"""Quotas: what each caller may ask, and that nobody else pays for it."""

from contextlib import ExitStack

import pytest

from cuttlebone.access import LOCAL, Caller, Quotas, TokenScope
from cuttlebone.access.quotas import STORED_BYTES_KNOWN_S
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.settings import Settings


class Clock:
    """Time that a test moves on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def caller(name: str, tenant: str = "x") -> Caller:
    return Caller(name, tenant, frozenset(TokenScope))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quotas(clock: Clock) -> Quotas:
    settings = Settings(
        token_requests_per_s_max=3, token_streams_max=2, tenant_stored_bytes_max=100
    )
    return Quotas(settings, clock=clock)


def accepted(quotas: Quotas, who: Caller, requests: int) -> int:
    return sum(counts(quotas, who) for _ in range(requests))


def counts(quotas: Quotas, who: Caller) -> bool:
    """Whether one more request is within the quota."""
    try:
        quotas.count_request(who)
    except CallerError as error:
        return error.code is not ProblemCode.QUOTA_EXCEEDED
    return True


def test_a_second_has_so_many_requests_and_a_longer_pause_not_more(
    quotas: Quotas, clock: Clock
) -> None:
    assert accepted(quotas, caller("a"), 5) == 3
    clock.seconds += 0.4
    assert accepted(quotas, caller("a"), 5) == 1
    clock.seconds += 60
    assert accepted(quotas, caller("a"), 5) == 3


def test_each_token_has_its_own_rate(quotas: Quotas) -> None:
    assert accepted(quotas, caller("a"), 3) == 3
    assert accepted(quotas, caller("b"), 3) == 3


def test_so_many_streams_are_open_at_once(quotas: Quotas) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(quotas.stream(caller("a")))
        with pytest.raises(CallerError, match="2 streams and waits are open"):
            stack.enter_context(quotas.stream(caller("a")))
        stack.enter_context(quotas.stream(caller("b")))

    with quotas.stream(caller("a")):
        pass


def test_a_tenant_that_stores_too_much_submits_nothing_until_it_stores_less(
    quotas: Quotas, clock: Clock
) -> None:
    stored = {"x": 100, "y": 99}
    quotas.check_stored(caller("a", "y"), stored.__getitem__)
    with pytest.raises(CallerError) as caught:
        quotas.check_stored(caller("a", "x"), stored.__getitem__)
    stored["x"] = 0
    clock.seconds += STORED_BYTES_KNOWN_S + 1

    quotas.check_stored(caller("a", "x"), stored.__getitem__)

    assert caught.value.code is ProblemCode.QUOTA_EXCEEDED
    assert "DELETE /v1/jobs" in caught.value.message


def test_the_one_user_of_an_open_host_has_no_bounds(quotas: Quotas) -> None:
    assert accepted(quotas, LOCAL, 100) == 100
    assert quotas.waiting_max(LOCAL) is None
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(quotas.stream(LOCAL))
    quotas.check_stored(LOCAL, lambda _: 10**9)
