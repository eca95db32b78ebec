"""The file of the durable stores: a writer, readers of their own, and the lock of its folder."""

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_when_event_set,
    wait_exponential,
)

from cuttlebone.errors import OperatorError, StoreUnavailable
from cuttlebone.job.job import now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.leases import OWNER_NAME, new_owner
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.folder_lock import lock_folder
from cuttlebone.store.sqlite.mark import Mark, durable_in
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.schema import kept_secret, open_database, truncate_log
from cuttlebone.store.sqlite.tails import EventTails
from cuttlebone.store.sqlite.writer import Change, Transaction, Writer

READERS_KEPT_MAX: Final = 16
"""Idle reading connections; more are opened when needed and closed again."""
RETRY_S_MAX: Final = 2.0
TRIED_EVERY_S: Final = 1.0
TRIED_BYTES: Final = 256 << 10

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Database:
    """One SQLite file, as one owner uses it. Any thread may call it.

    Invariants: only the writer thread writes; a reader is used by one thread at a time and sees
    what was committed when it began; a name of an owner is used by one process at a time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        owner: str = OWNER_NAME,
        metrics: HostMetrics | None = None,
        clock: Callable[[], datetime] = now,
        tried_every_s: float = TRIED_EVERY_S,
    ) -> None:
        """Open or make the file; raise OperatorError if it is damaged, too new or in use."""
        self._hurrying = threading.Event()
        self._path = folder / FILE_NAME
        self._lock = lock_folder(folder, owner)
        self.owner = new_owner(owner)
        self.tails = EventTails()
        connection = open_database(self._path)
        self.secret = kept_secret(connection)
        mark = _mark(self._path, connection)
        self._writer = Writer(connection, self.tails.committed, metrics, clock, mark)
        self._trying = threading.Lock()
        self._tried: Future[None] | None = None
        self._tried_s = 0.0
        self._tried_every_s = tried_every_s
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue(READERS_KEPT_MAX)

    def begin(self, change: Change[T]) -> Future[T]:
        """Apply a change; the future always ends, with StoreUnavailable if it cannot be written."""
        return self._writer.begin(change)

    def do(self, change: Change[T]) -> T:
        """Apply a change and wait until it is durable; raise what it raised, or StoreUnavailable."""
        return self._writer.do(change)

    def post(self, change: Change[None]) -> None:
        """Apply a change soon, in order with the others."""
        self._writer.post(change)

    def insist(self, change: Change[T]) -> T:
        """Apply a change, again and again while the file cannot be written, until `hurry`."""
        result: T = Retrying(
            retry=retry_if_exception_type(StoreUnavailable),
            wait=wait_exponential(multiplier=0.05, max=RETRY_S_MAX),
            stop=stop_when_event_set(self._hurrying),
            sleep=sleep_using_event(self._hurrying),
            before_sleep=_log_unavailable,
            reraise=True,
        )(self._writer.do, change)
        return result

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with."""
        try:
            reader = self._readers.get_nowait()
        except queue.Empty:
            reader = connect(self._path, read_only=True)
        try:
            yield reader
        finally:
            try:
                self._readers.put_nowait(reader)
            except queue.Full:
                reader.close()

    def trouble(self) -> str | None:
        """Why nothing can be written; None if it can, as far as is known. It does not wait.

        Whoever asks has it tried, at most once in `tried_every_s`, so that who asks again is told: on a
        host that has nothing else to write, nobody else would find out.
        """
        with self._trying:
            if self._tried is None or (
                self._tried.done() and time.monotonic() - self._tried_s >= self._tried_every_s
            ):
                self._tried_s = time.monotonic()
                large = self._writer.trouble is not None
                self._tried = self._writer.begin(partial(_try_to_write, large=large))
        return self._writer.trouble

    def truncate_log(self) -> None:
        """Let what was wiped from the file be wiped from its log of changes as well."""
        truncate_log(self._path)

    def hurry(self) -> None:
        """Try nothing again from now on: the host is stopping."""
        self._hurrying.set()
        self._writer.hurry()

    def close(self) -> None:
        """Write what is outstanding, close all connections, let the folder go."""
        self.hurry()
        # The readers first: only a last connection that writes takes the log of changes away.
        self._close_readers()
        self._writer.close()
        self._close_readers()
        os.close(self._lock)

    def _close_readers(self) -> None:
        while not self._readers.empty():
            self._readers.get_nowait().close()


def _try_to_write(transaction: Transaction, *, large: bool) -> None:
    """Write something that changes nothing.

    After a failure as much as a few jobs take: the log of changes has room for a page where the disk
    has none.
    """
    execute = transaction.connection.execute
    if large:
        execute("insert into meta values ('tried', zeroblob(?))", (TRIED_BYTES,))
        execute("delete from meta where key = 'tried'")
    else:
        execute("update meta set value = value where key = 'store'")


def _mark(path: Path, connection: sqlite3.Connection) -> Mark:
    durable = durable_in(connection)
    if durable is None:
        raise AssertionError("a database of this version counts its commits")
    try:
        return Mark(path, durable)
    except OSError as error:
        raise OperatorError(
            f"the mark beside {path} cannot be written: {error.strerror}; make room, or give the "
            "folder to the user who runs the host"
        ) from None


def _log_unavailable(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome is not None else None
    _log.error("the job store cannot be written; trying again", reason=str(error))
