"""Signals that ask a process to stop, turned into a call for as long as it can answer them."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

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
