"""The one thread that writes to the database: many requests in one commit, each answered after it."""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from cuttlebone.jobs.store import StoreUnavailable
from cuttlebone.metrics import HostMetrics

T = TypeVar("T")

Change = Callable[[sqlite3.Connection], T]
"""Changes the database inside a transaction that the writer commits."""

GROUP_MAX: Final = 256
"""Requests in one commit."""
PENDING_MAX: Final = 10_000
"""Requests that wait for the writer; whoever has one more waits as well."""


@dataclass(frozen=True, slots=True)
class _Request:
    change: Change[Any]
    done: Future[Any]
    after: Callable[[], None] | None


class Writer:
    """Owns the writing connection. Any thread may `do` or `post`.

    Invariants: a request is answered only after the commit that holds it, or with the error that
    undid it; requests of one thread are applied in their order; the thread outlives every error.
    """

    def __init__(self, connection: sqlite3.Connection, metrics: HostMetrics | None = None) -> None:
        self._connection = connection
        self._metrics = metrics or HostMetrics()
        self._requests: queue.Queue[_Request | None] = queue.Queue(PENDING_MAX)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def do(self, change: Change[T]) -> T:
        """Apply a change and wait until it is durable; raise what it raised, or StoreUnavailable."""
        done: Future[T] = Future()
        self._requests.put(_Request(change, done, None))
        return done.result()

    def post(self, change: Change[None], *, after: Callable[[], None] | None = None) -> None:
        """Apply a change soon, in order with the others; call `after` when it is durable.

        For what may be lost in a crash together with all that follows it: a piece of text.
        """
        self._requests.put(_Request(change, Future(), after))

    def close(self) -> None:
        """Write what was asked for, end the thread, close the connection."""
        self._requests.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            group, stopping = self._next_group()
            if group:
                self._commit(group)

    def _next_group(self) -> tuple[list[_Request], bool]:
        group: list[_Request] = []
        request = self._requests.get()
        while request is not None:
            group.append(request)
            if len(group) == GROUP_MAX:
                return group, False
            try:
                request = self._requests.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _commit(self, group: list[_Request]) -> None:
        """Apply a group in one transaction, each request in a savepoint of its own."""
        answers: list[tuple[_Request, Any, BaseException | None]] = []
        began_s = time.monotonic()
        try:
            self._connection.execute("begin immediate")
            answers.extend((request, *self._apply(request)) for request in group)
            self._connection.execute("commit")
            self._metrics.committed(len(group), time.monotonic() - began_s)
        except sqlite3.Error as error:
            self._roll_back()
            self._metrics.commit_failed()
            failure = StoreUnavailable(str(error))
            answers = [(request, None, failure) for request in group]
        for request, result, fault in answers:
            _answer(request, result, fault)

    def _apply(self, request: _Request) -> tuple[Any, BaseException | None]:
        self._connection.execute("savepoint request")
        try:
            result = request.change(self._connection)
        except sqlite3.OperationalError:
            raise  # a full disk, an I/O error: SQLite may have rolled back the whole group already
        except Exception as error:  # noqa: BLE001  # it is the requester's, who gets it
            self._connection.execute("rollback to request")
            self._connection.execute("release request")
            return None, error
        self._connection.execute("release request")
        return result, None

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")


def _answer(
    request: _Request, result: Any, fault: BaseException | None
) -> None:  # whatever was asked for
    if fault is not None:
        request.done.set_exception(fault)
        return
    request.done.set_result(result)
    if request.after is not None:
        request.after()
