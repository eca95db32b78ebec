"""The stores in memory: for tests, and for hosts that need not survive a restart."""

from collections.abc import Callable
from datetime import datetime

from cuttlebone.job.job import now
from cuttlebone.store.leases import OWNER_NAME, new_owner
from cuttlebone.store.memory.events import MemoryEvents
from cuttlebone.store.memory.jobs import MemoryJobs
from cuttlebone.store.memory.journal import MemoryJournal
from cuttlebone.store.memory.outbox import MemoryOutbox
from cuttlebone.store.memory.state import MemoryState
from cuttlebone.store.stores import Stores

__all__ = ["MemoryState", "open_memory_stores"]


def open_memory_stores(
    *,
    kept_max: int,
    owner: str = OWNER_NAME,
    clock: Callable[[], datetime] = now,
    state: MemoryState | None = None,
) -> Stores:
    """Stores that keep the `kept_max` jobs that ended last, over a state of their own or a shared one.

    A shared state has a clock already.
    """
    shared = MemoryState(clock=clock) if state is None else state
    return Stores(
        jobs=MemoryJobs(shared, owner=new_owner(owner), kept_max=kept_max),
        events=MemoryEvents(shared),
        journal=MemoryJournal(shared),
        outbox=MemoryOutbox(shared),
        secret=shared.secret,
        durable=False,
        trouble=lambda: None,
        hurry=_nothing_to_do,
        close=_nothing_to_do,
    )


def _nothing_to_do() -> None:
    """Nothing is ever tried again, and nothing is outstanding."""
