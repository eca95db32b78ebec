"""Whose delivery is sent next: receivers take turns, and a slow one has no more than its few places."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from cuttlebone.job.delivery import Delivery

AT_ONCE_MAX: Final = 64
"""Deliveries under way."""
OF_ONE_AT_ONCE_MAX: Final = 4
"""Of these, to one receiver."""
SHARED: Final = AT_ONCE_MAX // 2
"""When as many are under way, only receivers that have none get another place."""


def next_turns(due: Iterable[Delivery], under_way: Iterable[Delivery]) -> Sequence[Delivery]:
    """Which of `due`, the longest due first, to send now, beside what is under way.

    A delivery that is under way is due until its attempt was noted; it is not chosen again.
    """
    sending = list(under_way)
    known, busy = {one.id for one in sending}, Counter(one.receiver for one in sending)
    waiting = []
    for delivery in due:
        if delivery.id not in known:
            waiting.append((busy[delivery.receiver], delivery))
            busy[delivery.receiver] += 1
    chosen: list[Delivery] = []
    # Stable: among those whose receivers have as many before them, the longest due goes first.
    for place, delivery in sorted(waiting, key=lambda one: one[0]):
        room = AT_ONCE_MAX if place == 0 else SHARED
        if place < OF_ONE_AT_ONCE_MAX and len(sending) + len(chosen) < room:
            chosen.append(delivery)
    return chosen
