"""How many journals are sent at once: each takes a part of the memory and time of the host while it lasts."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from cuttlebone.errors import RETRY_LATER_S, CallerError, ProblemCode


class JournalSlots:
    """Counts the journals that are being sent. Owner: the event loop.

    Invariant: no more than `most` are sent at once, and no more than half of them, rounded up, to one
    tenant, so that slow readers of one leave something to the others.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, tenant: str) -> Iterator[None]:
        """Have a slot while the body runs; raise CallerError `host_busy` if there is none."""
        if self._taken.total() >= self._most:
            raise _busy(f"{self._most} journals are being sent already")
        share = (self._most + 1) // 2
        if self._taken[tenant] >= share:
            raise _busy(
                f"{share} journals of this tenant are being sent already, half of what may be"
            )
        self._taken[tenant] += 1
        try:
            yield
        finally:
            self._taken[tenant] -= 1
            if not self._taken[tenant]:
                del self._taken[tenant]


def _busy(reason: str) -> CallerError:
    return CallerError(
        ProblemCode.HOST_BUSY,
        f"{reason} (`journals_open_max`); try again later",
        retry_after_s=RETRY_LATER_S,
    )
