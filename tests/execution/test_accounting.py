"""Where the time of an attempt went: parts that add up."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import floats, integers

from cuttlebone.execution.accounting import accounting_of
from cuttlebone.sandbox import GuestAccounting
from job_scopes import ScopeOf
from store.stores import START, job

SECONDS = floats(0, 1_000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    duration_ms=integers(0, 1_000_000),
    guest_ms=floats(0, 1_000_000),
    waited_s=SECONDS,
    prefill_s=SECONDS,
    decode_s=SECONDS,
)
def test_the_parts_of_a_job_add_up_to_its_time(
    scope_of: ScopeOf,
    duration_ms: int,
    guest_ms: float,
    waited_s: float,
    prefill_s: float,
    decode_s: float,
) -> None:
    account = (scope := scope_of()).account
    account.waited_s, account.prefill_s, account.decode_s = waited_s, prefill_s, decode_s
    account.infer_s = waited_s + prefill_s + decode_s
    account.shared_s = prefill_s + decode_s
    used = GuestAccounting(guest_ms=guest_ms)

    spent = accounting_of(job("a"), scope, used, duration_ms=duration_ms)

    assert spent.guest_ms + spent.infer_ms + spent.host_ms == duration_ms
    assert 0 <= spent.shared_ms <= spent.prefill_ms + spent.decode_ms
    assert spent.infer_wait_ms + spent.prefill_ms + spent.decode_ms <= spent.infer_ms
    assert min(spent.guest_ms, spent.infer_ms, spent.host_ms, spent.prefill_ms) >= 0


@pytest.mark.parametrize(("seconds", "queue_ms"), [(2.5, 2_500), (-3_600, 0)])
def test_a_job_has_never_waited_less_than_nothing(
    scope_of: ScopeOf, seconds: float, queue_ms: int
) -> None:
    started = replace(job("a"), started_at=START + timedelta(seconds=seconds))

    assert accounting_of(started, scope_of(), GuestAccounting(), duration_ms=0).queue_ms == queue_ms
