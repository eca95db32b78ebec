"""The durable job store: SQLite, one writer thread, group commit, readers of their own."""

from cuttlebone.jobs.store_sqlite.reading import recorded_in
from cuttlebone.jobs.store_sqlite.store import SqliteJobStore

__all__ = ["SqliteJobStore", "recorded_in"]
