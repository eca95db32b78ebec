"""The durable job store: SQLite, one writer thread, group commit, readers of their own."""

from cuttlebone.store.sqlite.reading import recorded_in
from cuttlebone.store.sqlite.store import SqliteJobStore

__all__ = ["SqliteJobStore", "recorded_in"]
