"""The durable stores: SQLite, one writer thread, group commit, readers of their own."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cuttlebone.job.job import now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.events import GAPS_KEPT_MAX
from cuttlebone.store.leases import OWNER_NAME
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.events import SqliteEvents
from cuttlebone.store.sqlite.jobs import SqliteJobs
from cuttlebone.store.sqlite.journal import SqliteJournal
from cuttlebone.store.sqlite.outbox import SqliteOutbox
from cuttlebone.store.sqlite.reading import recorded_in
from cuttlebone.store.stores import Stores

__all__ = ["open_sqlite_stores", "recorded_in", "stores_over"]


def open_sqlite_stores(
    folder: Path,
    *,
    owner: str = OWNER_NAME,
    metrics: HostMetrics | None = None,
    clock: Callable[[], datetime] = now,
    gaps_kept_max: int = GAPS_KEPT_MAX,
) -> Stores:
    """Open or make the stores in a folder, under a name that this process alone uses there.

    Raises OperatorError if the file is damaged, too new or in use.
    """
    database = Database(folder, owner=owner, metrics=metrics, clock=clock)
    return stores_over(database, gaps_kept_max=gaps_kept_max)


def stores_over(database: Database, *, gaps_kept_max: int = GAPS_KEPT_MAX) -> Stores:
    """The four stores in a database, which they close."""
    return Stores(
        jobs=SqliteJobs(database, gaps_kept_max=gaps_kept_max),
        events=SqliteEvents(database),
        journal=SqliteJournal(database),
        outbox=SqliteOutbox(database),
        secret=database.secret,
        durable=True,
        trouble=database.trouble,
        hurry=database.hurry,
        close=database.close,
    )
