"""The process that forks every guest process: it has imported everything and holds nothing.

Started as `python -m cuttlebone.sandbox.zygote DESCRIPTOR` in a session of its own. It reads orders
from that socket, and ends when the socket closes, that is with the host, however the host ends.
It is the parent of all guest processes: it waits for them and reports how they ended.
"""

import gc
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from cuttlebone.sandbox.frames import EXIT_STATUS
from cuttlebone.sandbox.lockdown import ProcessLimits, lock_down
from cuttlebone.sandbox.priority import PriorityKeeper
from cuttlebone.sandbox.spawn_request import SpawnRequest
from cuttlebone.sandbox.warm_up import Equipment, equip, warm_up
from cuttlebone.sandbox.worker import SPAWN_REQUEST_BYTES_MAX, become_worker

SPARES_MAX: Final = 2
"""Processes that wait for an order."""
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Spare:
    """A process that was forked ahead and waits at `orders` for what to do."""

    process: int
    orders: socket.socket


class Zygote:
    """Forks ahead of orders, so that no job waits for a fork. Owned by the only thread of its process.

    Invariant: each child that was not waited for yet is either one of `_spares` or has a socket in
    `_status` that its end will be reported to.
    """

    def __init__(self, orders: socket.socket, equipment: Equipment) -> None:
        self._orders = orders
        self._equipment = equipment
        self._spares: list[Spare] = []
        self._status: dict[int, socket.socket] = {}
        self._priorities = PriorityKeeper()

    def run(self) -> None:
        """Serve until the host hangs up."""
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as ready:
            ready.register(self._orders, selectors.EVENT_READ)
            ready.register(woken, selectors.EVENT_READ)
            while self._serve(ready, woken):
                pass
        signal.set_wakeup_fd(-1)

    def _serve(self, ready: selectors.BaseSelector, woken: socket.socket) -> bool:
        """Do what there is to do; False when the host has hung up."""
        # Forking ahead is for when there is nothing else to do.
        missing = len(self._spares) < SPARES_MAX
        sleep_s = 0 if missing else self._priorities.next_look_s
        sources = [key.fileobj for key, _ in ready.select(sleep_s)]
        if woken in sources:
            with suppress(BlockingIOError):
                woken.recv(4096)
            self._wait_for_children()
        if missing and not sources:
            self._fork_ahead()
        self._priorities.look()
        return self._orders not in sources or self._take_order()

    def _take_order(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._orders, SPAWN_REQUEST_BYTES_MAX, 3)
        if not message:
            return False
        connection, module, status = descriptors
        told = socket.socket(fileno=status)
        try:
            self._carry_out(message, connection, module, told)
        except OSError as error:
            # No process can be had now. The host learns it from the socket that closes.
            print(f"no guest process: {error}", file=sys.stderr)  # noqa: T201  # there is no log here
            told.close()
        os.close(connection)
        os.close(module)
        return True

    def _carry_out(self, message: bytes, connection: int, module: int, told: socket.socket) -> None:
        spare = self._spares.pop() if self._spares else self._fork()
        self._status[spare.process] = told
        # It was not waited for yet, so its number is still its own, even if it has died.
        handle = os.pidfd_open(spare.process)
        with suppress(OSError), spare.orders:  # its end, or the host's, is noticed elsewhere
            socket.send_fds(told, [b"p"], [handle])
            socket.send_fds(spare.orders, [message], [connection, module])
        os.close(handle)
        if SpawnRequest.model_validate_json(message).lowers_priority:
            self._priorities.watch(spare.process)

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
                become_worker(theirs.fileno(), zygote, self._equipment)
        return Spare(child, ours)

    def _wait_for_children(self) -> None:
        while self._status or self._spares:
            child, how = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            self._priorities.forget(child)
            if (told := self._status.pop(child, None)) is not None:
                with told, suppress(OSError):
                    told.send(EXIT_STATUS.pack(how))
            for spare in [one for one in self._spares if one.process == child]:
                self._spares.remove(spare)
                spare.orders.close()


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
    """Warm up, tell the host what holds here, serve."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    equipment = equip()
    warm_up(equipment)
    # Objects that exist now are never collected again: looking at them would copy their pages.
    gc.collect()
    gc.freeze()
    orders.send(report_layers().encode())
    Zygote(orders, equipment).run()
    sys.exit(0)


if __name__ == "__main__":
    main()
