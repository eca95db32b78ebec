"""Stop signals turned into calls."""

import os
import signal
import threading
from queue import SimpleQueue

import pytest

from cuttlebone.signals import STOP_SIGNALS, next_wake, on_stop_signal


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


def test_a_signal_that_ends_no_wait_is_seen_all_the_same() -> None:
    wakes: SimpleQueue[str] = SimpleQueue()

    def signal_this_thread() -> None:
        # What waits is the main thread, which is not interrupted; but only it runs handlers.
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with on_stop_signal(lambda: wakes.put("stop")):
        other = threading.Timer(0.1, signal_this_thread)
        other.start()
        assert next_wake(wakes) == "stop"
    other.join()
