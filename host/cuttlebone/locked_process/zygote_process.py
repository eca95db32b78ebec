"""One zygote, seen from the host: start it, send it requests, notice when it hangs, end it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.starting import await_word, processor_s

ZYGOTE: Final = "cuttlebone.locked_process.zygote"
STALLED_S_MAX: Final = 5.0
"""A zygote that owes an answer and uses no processor time for that long hangs, or was stopped."""

# Whatever else stands in the environment of the host, secrets perhaps, is no business of a locked process.
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ZygoteProcess:
    """A zygote that has said what holds here. `send` may come from any thread; `end` ends it once."""

    process: subprocess.Popen[bytes]
    outbox: socket.socket
    layers: dict[Layer, str | None]

    def send(self, message: bytes, descriptors: Sequence[int]) -> None:
        """Send a request, whole; raise BlockingIOError if it has too many unread, OSError if it ended."""
        socket.send_fds(self.outbox, [message], descriptors, socket.MSG_DONTWAIT)

    def ended_within(self, timeout_s: float) -> bool:
        """Whether it has ended, after a wait."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_s)
            return True
        return False

    def end(self) -> None:
        """End it, and its processes with it."""
        self.outbox.close()
        _end(self.process)


class Patience:
    """How long an answer may take: as long as the zygote gets on. Owned by the thread that waits."""

    def __init__(self, zygote: ZygoteProcess) -> None:
        self._number = zygote.process.pid
        self._used_s = processor_s(self._number)
        self._progress_s = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether the zygote has used no processor time for `STALLED_S_MAX`."""
        now_s, used_s = time.monotonic(), processor_s(self._number)
        if used_s != self._used_s:
            self._used_s, self._progress_s = used_s, now_s
        return now_s - self._progress_s > STALLED_S_MAX


def start_zygote(programs: Sequence[str]) -> ZygoteProcess:
    """Start one that loads these programs; raise OperatorError."""
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
        return ZygoteProcess(process, ours, _parsed(_first_word(process, ours)))
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


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait()
