"""One locked process, seen from the host: ask it, kill it, learn how it ended."""

import os
import signal
import socket
import threading
from contextlib import suppress
from typing import Final

from cuttlebone.locked_process.frames import (
    EXIT_STATUS,
    BrokenFrame,
    Reply,
    receive_reply,
    send_request,
)

END_S_MAX: Final = 5.0


class ChildDied(Exception):
    """The process has ended or no longer speaks our language. `signal` is what killed it, if one did."""

    def __init__(self, message: str, signal_number: int | None = None) -> None:
        super().__init__(message)
        self.signal_number = signal_number


class Child:
    """A process that answers requests. Owned by one thread; `kill` may come from any, while open.

    Invariant: `_lock` guards the life of the three descriptors; the pidfd keeps the process number
    from meaning another process, so that a kill can never hit a stranger.
    """

    def __init__(self, connection: socket.socket, status: socket.socket, handle: int) -> None:
        self._connection = connection
        self._status = status
        self._handle: int | None = handle
        self._killed = False
        self._lock = threading.Lock()

    def ask(self, request: int, payload: bytes, *, payload_bytes_max: int) -> Reply:
        """Send one request, of its program's enum, and wait for the reply; raise ChildDied."""
        try:
            send_request(self._connection, request, payload)
            reply = receive_reply(self._connection, payload_bytes_max=payload_bytes_max)
        except OSError:
            reply = None
        except BrokenFrame as error:
            self.kill()
            raise ChildDied(f"it sent {error}") from None
        if reply is None:
            raise self._death()
        return reply

    def kill(self) -> None:
        """End the process now; whoever waits for it is told at once."""
        with self._lock:
            if self._handle is None:
                return
            self._killed = True
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            # The socket of a dying process stays open until its memory is freed; ours need not wait.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Kill the process if it lives, and free the descriptors."""
        self.kill()
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None
        self._connection.close()
        self._status.close()

    def _death(self) -> ChildDied:
        if self._killed:
            # Whoever killed it knows why; nobody has to wait until it is really gone.
            return ChildDied("it was killed")
        self._status.settimeout(END_S_MAX)
        try:
            told = self._status.recv(EXIT_STATUS.size)
        except OSError:
            told = b""
        if len(told) < EXIT_STATUS.size:
            return ChildDied("it ended, and the process that forked it did not say how")
        how = os.waitstatus_to_exitcode(EXIT_STATUS.unpack(told)[0])
        if how < 0:
            return ChildDied(f"it was killed by {signal.Signals(-how).name}", -how)
        return ChildDied(f"it ended with status {how}")
