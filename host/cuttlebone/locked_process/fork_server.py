"""Where the host has locked processes forked: by a zygote, and by another one when that fails."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Final

import structlog

from cuttlebone.errors import Interrupted, OperatorError
from cuttlebone.locked_process.child import Child
from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.locked_process.zygote_process import Patience, ZygoteProcess, start_zygote

LOOK_S: Final = 0.05
"""How often who waits for a process looks whether it is still wanted."""
DYING_S_MAX: Final = 0.5

Stopped = Callable[[], bool]
"""Whether a process is no longer wanted."""

_log = structlog.get_logger(__name__)


class ForkServer:
    """Runs one zygote. `spawn` may come from any thread.

    Programs that share a library share a zygote, which costs its memory once; programs of different
    libraries have one each, so that no process holds code that it does not run.

    Invariants: `_lock` guards `_coming`, `_retired` and `_closed`, and nobody waits for anything while holding
    it. `_coming` is the zygote that serves, or the start of one. `_retired` is one that hangs: its
    processes work on, and would end with it, so it is kept until the next one hangs.
    """

    def __init__(self, programs: Sequence[str]) -> None:
        """Serve the programs of these modules."""
        self._programs = tuple(programs)
        self._lock = threading.Lock()
        self._coming: Future[ZygoteProcess] | None = None
        self._retired: ZygoteProcess | None = None
        self._closed = False

    def layers(self) -> dict[Layer, str | None]:
        """Which layers hold a locked process here: None, or why one is missing. Starts the zygote."""
        return dict(self._running(_never).layers)

    def spawn(self, wanted: SpawnRequest, content: int, stopped: Stopped | None = None) -> Child:
        """A locked process that has the content of the descriptor `content`.

        Raises OperatorError, and Interrupted soon after `stopped` begins to return True.
        """
        if wanted.program not in self._programs:
            raise ValueError(f"this zygote has not loaded {wanted.program}")
        message = wanted.pack()
        for _ in range(2):
            zygote = self._running(stopped or _never)
            try:
                return _child_of(zygote, message, content, stopped or _never)
            except _Hangs:
                self._retire(zygote)
            except OSError:
                # One that lives but cannot fork still has processes, which would end with it.
                if _has_died(zygote, stopped or _never):
                    self._replace(zygote)
        raise OperatorError(
            "no locked process could be forked, twice; the machine may be out of processes or memory"
        )

    def close(self) -> None:
        """End the zygote, for good; its processes end with it."""
        with self._lock:
            coming, retired = self._coming, self._retired
            self._coming = self._retired = None
            self._closed = True
        if coming is not None:
            with suppress(OperatorError):
                coming.result().end()
        if retired is not None:
            retired.end()

    def _running(self, stopped: Stopped) -> ZygoteProcess:
        """The zygote, once it has started; raise OperatorError and Interrupted."""
        coming = self._start_if_none()
        while True:
            wait([coming], LOOK_S)
            if coming.done():
                return coming.result()
            _check(stopped)

    def _start_if_none(self) -> Future[ZygoteProcess]:
        with self._lock:
            if self._closed:
                raise OperatorError("no process can be forked any more: its owner is closing")
            if self._coming is None:
                self._coming = Future()
                # A start belongs to no job: one that is stopped meanwhile must not undo it for others.
                threading.Thread(
                    target=self._start, args=(self._coming,), name="zygote-start", daemon=True
                ).start()
            return self._coming

    def _start(self, coming: Future[ZygoteProcess]) -> None:
        try:
            coming.set_result(start_zygote(self._programs))
        except BaseException as error:  # noqa: BLE001  # whoever waits for it is told, whatever it is
            self._forget(coming)
            coming.set_exception(error)

    def _forget(self, coming: Future[ZygoteProcess]) -> bool:
        """Let the next spawn start another one; False if somebody has done so before."""
        with self._lock:
            was_current = self._coming is coming
            if was_current:
                self._coming = None
            return was_current

    def _replace(self, died: ZygoteProcess) -> None:
        if self._forget_zygote(died):
            _log.error("a zygote has died; another one will be started", programs=self._programs)
            died.end()

    def _retire(self, hanging: ZygoteProcess) -> None:
        if not self._forget_zygote(hanging):
            return
        _log.error("a zygote hangs; another one will be started", programs=self._programs)
        with self._lock:
            before, self._retired = self._retired, hanging
        if before is not None:
            before.end()

    def _forget_zygote(self, zygote: ZygoteProcess) -> bool:
        with self._lock:
            coming = self._coming
        return (
            coming is not None
            and coming.done()
            and coming.exception() is None
            and coming.result() is zygote
            and self._forget(coming)
        )


class _Hangs(Exception):
    """The zygote does not answer, and does nothing."""


def _child_of(zygote: ZygoteProcess, message: bytes, content: int, stopped: Stopped) -> Child:
    """Have a process forked; raise OSError, Interrupted and _Hangs."""
    ours, theirs = socket.socketpair()
    # Of a kind that tells its end: if the zygote dies, waiting for word from it ends at once.
    status, zygotes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    waiting = _Waiting(zygote, stopped)
    try:
        with theirs, zygotes:
            waiting.send(message, [theirs.fileno(), content, zygotes.fileno()])
        return Child(ours, status, waiting.handle(status))
    except BaseException:
        ours.close()
        status.close()
        raise


class _Waiting:
    """One request to a zygote, and the wait for its answer. Owned by the thread that asks."""

    def __init__(self, zygote: ZygoteProcess, stopped: Stopped) -> None:
        self._zygote = zygote
        self._stopped = stopped
        self._patience = Patience(zygote)

    def send(self, message: bytes, descriptors: Sequence[int]) -> None:
        """Send the request, as soon as the zygote has room for it."""
        while True:
            self._look()
            try:
                return self._zygote.send(message, descriptors)
            except BlockingIOError:
                time.sleep(LOOK_S)

    def handle(self, status: socket.socket) -> int:
        """The pidfd of the new process, which the zygote sends once it has forked."""
        status.settimeout(LOOK_S)
        while True:
            self._look()
            try:
                _, descriptors, _, _ = socket.recv_fds(status, 1, 1)
            except TimeoutError:
                continue
            if not descriptors:
                raise ConnectionResetError
            os.set_inheritable(descriptors[0], False)
            return descriptors[0]

    def _look(self) -> None:
        _check(self._stopped)
        if self._patience.over:
            raise _Hangs


def _has_died(zygote: ZygoteProcess, stopped: Stopped) -> bool:
    """Whether it has ended, or is about to: a moment passes between the end of its socket and its own."""
    deadline_s = time.monotonic() + DYING_S_MAX
    while time.monotonic() < deadline_s:
        if zygote.ended_within(LOOK_S):
            return True
        _check(stopped)
    return False


def _check(stopped: Stopped) -> None:
    if stopped():
        raise Interrupted("waiting for a process")


def _never() -> bool:
    return False
