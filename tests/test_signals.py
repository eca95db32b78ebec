"""Stop signals turned into calls."""

import os
import signal

import pytest

from cuttlebone.signals import STOP_SIGNALS, on_stop_signal


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_stop_signal_is_a_call_while_the_block_runs(number: signal.Signals) -> None:
    before, calls = signal.getsignal(number), []
    with on_stop_signal(lambda: calls.append(number)):
        os.kill(os.getpid(), number)
    assert calls == [number]
    assert signal.getsignal(number) is before


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before, calls = signal.signal(signal.SIGHUP, signal.SIG_IGN), []
    try:
        with on_stop_signal(lambda: calls.append(signal.SIGHUP)):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert calls == []
