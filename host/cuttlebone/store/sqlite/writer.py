"""The one thread that writes to the database: many requests in one commit, each answered after it."""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

import structlog

from cuttlebone.errors import StoreUnavailable
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import JobKey, now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.sqlite.mark import Durable, Mark
from cuttlebone.store.sqlite.tails import Told

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transaction:
    """What a change works with: the connection, and what is told of it once it is durable."""

    connection: sqlite3.Connection
    clock: Callable[[], datetime] = now
    told: list[Told] = field(default_factory=list)

    def tell(self, key: JobKey, event: JobEvent | None = None) -> None:
        """Something happens to a job, such as an event."""
        self.told.append((key, event))


Change = Callable[[Transaction], T]
"""Changes the database inside a transaction that the writer commits."""

GROUP_MAX: Final = 256
"""Requests in one commit."""
POSTS_MAX: Final = 2_000
"""Posts that are not written yet; whoever has one more waits."""
RETRY_S: Final = 0.2
"""After this time posts that could not be written are tried again, if nothing else comes before."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Request:
    change: Change[Any]
    done: Future[Any] | None
    """Who waits for it; None for a post."""


class Writer:
    """Owns the writing connection. Any thread may `do` or `post`.

    Invariants: a request is answered only after the commit that holds it, or with the error that
    undid it; what a commit has told is passed on after it and before its answers; what one thread asks for is applied in its order; a post is never skipped: it is tried
    until it is written, and once one was given up nothing is written any more; the thread outlives
    every error.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        committed: Callable[[Sequence[Told]], None],
        metrics: HostMetrics | None = None,
        clock: Callable[[], datetime] = now,
        mark: Mark | None = None,
    ) -> None:
        """`mark` is told what is durable, after each commit and before its answers."""
        self._connection = connection
        self._committed = committed
        self._mark = mark
        self._metrics = metrics or HostMetrics()
        self._clock = clock
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._unwritten: list[_Request] = []
        """Posts whose commit failed, oldest first. Only the thread touches them."""
        self._changed = threading.Condition()
        self._posts = 0
        self._hurrying = False
        self._lost = False
        self._closed = False
        self.trouble: str | None = None
        """Why the last commit that was to write something was undone; None if it was not."""
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def do(self, change: Change[T]) -> T:
        """Apply a change and wait until it is durable; raise what it raised, or StoreUnavailable."""
        return self.begin(change).result()

    def begin(self, change: Change[T]) -> Future[T]:
        """Do as `do` does, without waiting. The future always ends, in the thread of the writer."""
        done: Future[T] = Future()
        with self._changed:
            if self._closed or self._lost:
                done.set_exception(StoreUnavailable("the store is being closed"))
            else:
                self._requests.put(_Request(change, done))
        return done

    def post(self, change: Change[None]) -> None:
        """Apply a change soon, in order with the others.

        For what may be lost in a crash together with all that follows it: a piece of text. Waits
        while too many posts are not written, be it that the disk is slow or that it is full.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._posts < POSTS_MAX or self._hurrying)
            if self._closed or self._posts >= POSTS_MAX:
                self._lost = True
                return
            self._posts += 1
            self._requests.put(_Request(change, None))

    def hurry(self) -> None:
        """Let nobody wait any more for a disk that cannot be written: the host is stopping."""
        with self._changed:
            self._hurrying = True
            self._changed.notify_all()

    def close(self) -> None:
        """Write what was asked for, end the thread, close the connection."""
        self.hurry()
        with self._changed:
            self._closed = True
            self._requests.put(None)
        self._thread.join()
        self._connection.close()
        if self._mark is not None:
            self._mark.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            group, stopping = self._next_group()
            if group:
                self._commit(group)
        if self._unwritten:
            _log.error("events could not be written before the store was closed")

    def _next_group(self) -> tuple[list[_Request], bool]:
        """Wait for requests; return them after the posts that are still to be written."""
        group, self._unwritten = self._unwritten, []
        try:
            request = self._requests.get(timeout=RETRY_S if group else None)
            size = 0
            while request is not None:
                group.append(request)
                size += 1
                if size == GROUP_MAX:
                    return group, False
                request = self._requests.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _commit(self, group: list[_Request]) -> None:
        """Apply a group in one transaction, each request in a savepoint of its own."""
        answers: list[tuple[_Request, Any, Exception | None]] = []
        transaction = Transaction(self._connection, self._clock)
        began_s, changes = time.monotonic(), self._connection.total_changes
        durable: Durable | None = None
        try:
            self._connection.execute("begin immediate")
            answers.extend((request, *self._apply(request, transaction)) for request in group)
            if self._mark is not None and self._connection.total_changes > changes:
                durable = self._mark.count(self._connection)
            self._connection.execute("commit")
            self._metrics.committed(len(group), time.monotonic() - began_s)
            if self._connection.total_changes > changes:  # else nothing was written
                self.trouble = None
        except Exception as error:  # noqa: BLE001  # whatever it is, everybody has to be told
            self._undo(group, error)
            return
        if self._mark is not None and durable is not None:
            self._mark.note(durable)
        self._count_written(sum(request.done is None for request in group))
        if transaction.told:
            self._committed(transaction.told)
        for request, result, fault in answers:
            _answer(request, result, fault)

    def _apply(self, request: _Request, transaction: Transaction) -> tuple[Any, Exception | None]:
        self._connection.execute("savepoint request")
        told_before = len(transaction.told)
        try:
            result = request.change(transaction)
        except sqlite3.OperationalError:
            raise  # a full disk, an I/O error: SQLite may have rolled back the whole group already
        except Exception as error:  # noqa: BLE001  # it is the requester's, who gets it
            del transaction.told[told_before:]
            self._connection.execute("rollback to request")
            self._connection.execute("release request")
            return None, error
        self._connection.execute("release request")
        return result, None

    def _undo(self, group: list[_Request], error: Exception) -> None:
        """Tell those who wait that nothing was written, and keep the posts for the next try."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
        except sqlite3.Error as worse:
            _log.error("a transaction could not be undone", reason=str(worse))
        self._metrics.commit_failed()
        self.trouble = str(error)
        self._unwritten = [request for request in group if request.done is None]
        for request in group:
            if request.done is not None:
                request.done.set_exception(StoreUnavailable(str(error)))

    def _count_written(self, posts: int) -> None:
        if posts:
            with self._changed:
                self._posts -= posts
                self._changed.notify_all()


def _answer(request: _Request, result: Any, fault: Exception | None) -> None:  # whatever it asked
    if request.done is not None:
        if fault is None:
            request.done.set_result(result)
        else:
            request.done.set_exception(fault)
        return
    if fault is not None:
        _log.error("an event could not be kept", exc_info=fault)
