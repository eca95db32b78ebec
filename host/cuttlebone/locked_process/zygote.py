"""The process that forks locked processes: it has imported everything and holds nothing.

Started as `python -m cuttlebone.locked_process.zygote DESCRIPTOR PROGRAM...` in a session of its own. It
reads spawn requests from that socket, and ends when the socket closes, that is with the host, however
the host ends. It is the parent of its locked processes: it waits for them and reports how they ended.
"""

import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from cuttlebone.locked_process.frames import EXIT_STATUS
from cuttlebone.locked_process.lockdown import ProcessLimits, lock_down
from cuttlebone.locked_process.priority import Demoter
from cuttlebone.locked_process.program import Program, load_program
from cuttlebone.locked_process.spawn_request import MESSAGE_BYTES_MAX, SpawnRequest
from cuttlebone.locked_process.worker import become_worker

SPARES_MAX: Final = 2
"""Processes that wait for a request."""
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Spare:
    """A process that was forked ahead and waits at the other end of `inbox` for what to do."""

    process: int
    inbox: socket.socket


class Zygote:
    """Forks ahead of requests, so that no job waits for a fork. Owned by the only thread of its process.

    Invariant: each child that was not waited for yet is either one of `_spares` or has a socket in
    `_status` that its end will be reported to.
    """

    def __init__(self, inbox: socket.socket, programs: Mapping[str, Program]) -> None:
        self._inbox = inbox
        self._programs = programs
        self._spares: list[Spare] = []
        self._status: dict[int, socket.socket] = {}
        self._demoter = Demoter()

    def run(self) -> None:
        """Serve until the host hangs up."""
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as ready:
            ready.register(self._inbox, selectors.EVENT_READ)
            ready.register(woken, selectors.EVENT_READ)
            while self._serve(ready, woken):
                pass
        signal.set_wakeup_fd(-1)

    def _serve(self, ready: selectors.BaseSelector, woken: socket.socket) -> bool:
        """Do what there is to do; False when the host has hung up."""
        # Forking ahead is for when there is nothing else to do.
        missing = len(self._spares) < SPARES_MAX
        sleep_s = 0 if missing else self._demoter.next_look_s
        sources = [key.fileobj for key, _ in ready.select(sleep_s)]
        if woken in sources:
            with suppress(BlockingIOError):
                woken.recv(4096)
            self._wait_for_children()
        if missing and not sources:
            self._fork_ahead()
        self._demoter.look()
        return self._inbox not in sources or self._take_request()

    def _take_request(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._inbox, MESSAGE_BYTES_MAX, 3)
        if not message:
            return False
        connection, content, status = descriptors
        told = socket.socket(fileno=status)
        try:
            self._hand_over(message, connection, content, told)
        except OSError as error:
            # No process can be had now. The host learns it from the socket that closes.
            print(f"no locked process: {error}", file=sys.stderr)  # noqa: T201  # there is no log here
            told.close()
        os.close(connection)
        os.close(content)
        return True

    def _hand_over(
        self, message: bytes, connection: int, content: int, told: socket.socket
    ) -> None:
        spare = self._spares.pop() if self._spares else self._fork()
        self._status[spare.process] = told
        # It was not waited for yet, so its number is still its own, even if it has died.
        handle = os.pidfd_open(spare.process)
        with suppress(OSError), spare.inbox:  # its end, or the host's, is noticed elsewhere
            # In this order: a host that has the handle waits for the process, and not for a zygote.
            socket.send_fds(spare.inbox, [message], [connection, content])
            socket.send_fds(told, [b"p"], [handle])
        os.close(handle)
        if SpawnRequest.unpack(message).lowers_priority:
            self._demoter.watch(spare.process)

    def _fork_ahead(self) -> None:
        try:
            self._spares.append(self._fork())
        except OSError:
            # Whoever needs a process will be told; until then do not try again and again.
            time.sleep(_PAUSE_S)

    def _fork(self) -> Spare:
        zygote = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                become_worker(theirs.fileno(), zygote, self._programs)
        return Spare(child, ours)

    def _wait_for_children(self) -> None:
        while self._status or self._spares:
            child, how = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            self._demoter.forget(child)
            if (told := self._status.pop(child, None)) is not None:
                with told, suppress(OSError):
                    told.send(EXIT_STATUS.pack(how))
            for spare in [one for one in self._spares if one.process == child]:
                self._spares.remove(spare)
                spare.inbox.close()


def report_layers() -> str:
    """What `lock_down` can do here, tried in a fork: a line `layer` or `layer: what is missing` each."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        report = lock_down(ProcessLimits(cpu_s=1, data_bytes=1 << 28, reserved_bytes=1 << 33))
        lines = [
            layer if missing is None else f"{layer}: {missing}" for layer, missing in report.items()
        ]
        os.write(writing, "\n".join(lines).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def main() -> NoReturn:
    """Load the programs, tell the host what holds here, serve."""
    inbox = socket.socket(fileno=int(sys.argv[1]))
    programs = {name: load_program(name) for name in sys.argv[2:]}
    # Objects that exist now are never collected again: looking at them would copy their pages.
    gc.collect()
    gc.freeze()
    inbox.send(report_layers().encode())
    Zygote(inbox, programs).run()
    sys.exit(0)


if __name__ == "__main__":
    main()
