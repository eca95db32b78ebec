"""Signals that ask a process to stop, turned into a call for as long as it can answer them."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final, TypeVar

T = TypeVar("T")

LOOK_S: Final = 0.5
"""How late a signal is noticed at most."""
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def on_stop_signal(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback`, in the main thread between two of its instructions, for Ctrl-C and its like.

    The callback may raise, which then looks as if the interrupted code had. It must not take a
    lock that the main thread may hold. A SIGHUP that is ignored, as under `nohup`, stays so.
    """

    def called(_number: int, _frame: FrameType | None) -> None:
        callback()

    before = {
        number: signal.signal(number, called)
        for number in STOP_SIGNALS
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def next_wake(wakes: SimpleQueue[T]) -> T:
    """Wait for the next entry of a queue that a signal handler writes to as well. In the main thread.

    A signal that comes just before a wait begins does not end it, and its handler runs only after
    it: so no wait is long.
    """
    while True:
        with suppress(Empty):
            return wakes.get(timeout=LOOK_S)
