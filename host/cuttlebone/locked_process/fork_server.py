"""The host's end of a zygote: start it, have it fork processes, start it again if it dies."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.locked_process.child import Child
from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.starting import await_word

ZYGOTE: Final = "cuttlebone.locked_process.zygote"
FORK_S_MAX: Final = 60.0
"""A machine that is busy beyond measure may take seconds to fork; this is for one that hangs."""
DYING_S_MAX: Final = 0.5

# Whatever else stands in the environment of the host, secrets perhaps, is no business of a locked process.
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")

_log = structlog.get_logger(__name__)


class ForkServer:
    """Runs one zygote. `spawn` may come from any thread.

    Programs that share a library share a zygote, which costs its memory once; programs of different
    libraries have one each, so that no process holds code that it does not run.

    Invariant: `_lock` guards `_process` and `_outbox`, which are both there or both None.
    """

    def __init__(self, programs: Sequence[str]) -> None:
        """Serve the programs of these modules."""
        self._programs = tuple(programs)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: socket.socket | None = None
        self._layers: dict[Layer, str | None] = {}

    def layers(self) -> dict[Layer, str | None]:
        """Which layers hold a locked process here: None, or why one is missing. Starts the zygote."""
        with self._lock:
            self._running()
            return dict(self._layers)

    def spawn(self, wanted: SpawnRequest, content: int) -> Child:
        """A locked process that has the content of the descriptor `content`; raise OperatorError."""
        if wanted.program not in self._programs:
            raise ValueError(f"this zygote has not loaded {wanted.program}")
        message = wanted.pack()
        for _ in range(2):
            if (child := self._try_to_spawn(message, content)) is not None:
                return child
            self._replace_if_dead()
        raise OperatorError(
            "no locked process could be forked, twice; the machine may be out of processes or memory"
        )

    def close(self) -> None:
        """End the zygote; its processes end with it."""
        with self._lock:
            self._end_it()

    def _replace_if_dead(self) -> None:
        # One that lives but cannot fork still has processes, which would end with it.
        with self._lock:
            if self._process is None:
                return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(DYING_S_MAX)
                _log.error(
                    "a zygote has died; another one will be started", programs=self._programs
                )
                self._end_it()

    def _end_it(self) -> None:
        if self._outbox is not None:
            self._outbox.close()
        if self._process is not None:
            _end(self._process)
        self._process = self._outbox = None

    def _try_to_spawn(self, message: bytes, content: int) -> Child | None:
        ours, theirs = socket.socketpair()
        # Of a kind that tells its end: if the zygote dies, waiting for word from it ends at once.
        status, zygotes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, zygotes, self._lock:
                descriptors = [theirs.fileno(), content, zygotes.fileno()]
                socket.send_fds(self._running(), [message], descriptors)
            return Child(ours, status, _process_handle(status))
        except (OSError, OperatorError) as error:
            ours.close()
            status.close()
            if isinstance(error, OperatorError):
                raise
            return None

    def _running(self) -> socket.socket:
        if self._outbox is None:
            self._process, self._outbox, self._layers = _start(self._programs)
        return self._outbox


def _start(
    programs: Sequence[str],
) -> tuple[subprocess.Popen[bytes], socket.socket, dict[Layer, str | None]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        # -P: a module in the current folder must not stand in for one of the standard library. A
        # session of its own keeps an interrupt from the terminal away from what runs.
        process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
            [sys.executable, "-P", "-m", ZYGOTE, str(theirs.fileno()), *programs],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        )
    try:
        return process, ours, _parsed(_first_word(process, ours))
    except BaseException:
        ours.close()
        _end(process)
        raise


def _first_word(process: subprocess.Popen[bytes], ours: socket.socket) -> str:
    """What the zygote says once it is ready; raise OperatorError if it ends or hangs before."""

    def waiting(waited_s: float) -> None:
        _log.info("a zygote is starting", waited_s=round(waited_s))

    if not await_word(process, ours, waiting):
        raise OperatorError(
            "the zygote, which forks processes, hangs in its start, without using any processor time; "
            "start again, and report it if that happens again"
        )
    if told := ours.recv(4096).decode():
        return told
    raise OperatorError(
        "the zygote, which forks processes, ended in its start; its errors stand above"
    )


def _parsed(told: str) -> dict[Layer, str | None]:
    layers: dict[Layer, str | None] = {}
    for line in told.splitlines():
        name, _, missing = line.partition(": ")
        layers[Layer(name)] = missing or None
    return layers


def _process_handle(status: socket.socket) -> int:
    """The pidfd of the new process, which the zygote sends once it has forked; raise OSError."""
    status.settimeout(FORK_S_MAX)
    _, descriptors, _, _ = socket.recv_fds(status, 1, 1)
    if not descriptors:
        raise ConnectionResetError
    os.set_inheritable(descriptors[0], False)
    return descriptors[0]


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait()
