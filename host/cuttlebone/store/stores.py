"""All that a host keeps, as it is opened and closed together."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cuttlebone.store.events import EventStore
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.journal import JournalStore
from cuttlebone.store.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Stores:
    """The four stores over the same jobs. Whoever needs one of them takes that one."""

    jobs: JobStore
    events: EventStore
    journal: JournalStore
    outbox: Outbox
    secret: bytes = field(repr=False)
    """32 random bytes, made with these stores and kept with them: what is told of them is sealed with it."""
    durable: bool
    """Whether jobs outlive the host, so that it may leave them for its next start."""
    trouble: Callable[[], str | None]
    """Why nothing can be kept now; None if it can, as far as is known. It does not wait."""
    hurry: Callable[[], None]
    """Try nothing again from now on: the host is stopping, whether or not the disk is full."""
    close: Callable[[], None]
    """Write what is outstanding and let go of everything."""
