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
from contextlib import suppress
from typing import Final, NoReturn

import wasmtime

from cuttlebone.errors import JobError
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.sandbox.frames import EXIT_STATUS
from cuttlebone.sandbox.guest import GuestLimits
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.lockdown import ProcessLimits, lock_down
from cuttlebone.sandbox.orders import Order
from cuttlebone.sandbox.worker import Engines, become_worker

ORDER_BYTES_MAX: Final = 4096

_WARMING: Final = """(module (memory (export "memory") 1)
  (data (i32.const 0) "\\08\\00\\00\\00\\01\\00\\00\\00x")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 0))
  (func $s (@name "\\1b") (param i32 i32) (result i32) (unreachable))
  (export "cf_step" (func $s)))"""


class Zygote:
    """Forks on order. Owned by the only thread of its process.

    Invariant: `_status` has one socket for each child that was not waited for yet.
    """

    def __init__(self, orders: socket.socket, engines: Engines) -> None:
        self._orders = orders
        self._engines = engines
        self._status: dict[int, socket.socket] = {}

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
            while True:
                sources = [key.fileobj for key, _ in ready.select()]
                if woken in sources:
                    with suppress(BlockingIOError):
                        woken.recv(4096)
                    self._wait_for_children()
                if self._orders in sources and not self._take_order():
                    return

    def _take_order(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._orders, ORDER_BYTES_MAX, 3)
        if not message:
            return False
        connection, module, status = descriptors
        self._fork(
            Order.model_validate_json(message), connection, module, socket.socket(fileno=status)
        )
        os.close(connection)
        os.close(module)
        return True

    def _fork(self, order: Order, connection: int, module: int, status: socket.socket) -> None:
        zygote = os.getpid()
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            become_worker(order, connection, module, zygote, self._engines)
        # The child cannot be waited for before this returns, so its number is still its own.
        handle = os.pidfd_open(child)
        self._status[child] = status
        with suppress(OSError):  # a host that no longer wants to know
            socket.send_fds(status, [b"p"], [handle])
        os.close(handle)

    def _wait_for_children(self) -> None:
        while self._status:
            child, how = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            with self._status.pop(child) as status, suppress(OSError):
                status.send(EXIT_STATUS.pack(how))


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


def warm_up() -> Engines:
    """Do once all that wasmtime does lazily, so that a fork need not, and locked down could not."""
    stack_bytes = GuestLimits().stack_bytes
    engines = {
        (metered, stack_bytes): new_engine(metered=metered, stack_bytes=stack_bytes)
        for metered in (False, True)
    }
    artefact = compile_module(bytes(wasmtime.wat2wasm(_WARMING)), metered=False)
    instance = Instance(artefact, GuestLimits())
    instance.init(b"{}")
    with suppress(JobError):
        instance.step(b"{}")
    instance.close()
    # Objects that exist now are never collected again: looking at them would copy their pages.
    gc.collect()
    gc.freeze()
    return engines


def main() -> NoReturn:
    """Warm up, tell the host what holds here, serve."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    engines = warm_up()
    orders.send(report_layers().encode())
    Zygote(orders, engines).run()
    signal.set_wakeup_fd(-1)
    sys.exit(0)


if __name__ == "__main__":
    main()
