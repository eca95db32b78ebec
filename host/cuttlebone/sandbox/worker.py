"""What a guest process does, from its birth to its end: lock itself down, then serve one guest.

Runs in a fork of the zygote. After `lock_down` nothing may import, open or look anything up: such a
call kills the process.
"""

import mmap
import os
import socket
from collections.abc import Mapping
from typing import Final, NoReturn, assert_never

import wasmtime

from cuttlebone.errors import BlockRefused, Interrupted, JobError
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.frames import (
    METERED,
    Answer,
    Reply,
    Request,
    pack_description,
    receive_request,
    send_answer,
)
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.libc import PR_SET_PDEATHSIG, process_control
from cuttlebone.sandbox.lockdown import lock_down
from cuttlebone.sandbox.orders import Order

_SIGKILL: Final = 9

Engines = Mapping[tuple[bool, int], wasmtime.Engine]
"""Engines that the zygote has made in advance, by whether they are metered and their `stack_bytes`.

Making one costs a fork a third of its life; a fork has its copy for itself.
"""

SOCKET: Final = 3
MODULE: Final = 4


def become_worker(
    order: Order, connection: int, module: int, parent: int, engines: Engines
) -> NoReturn:
    """Turn this fork into a guest process that serves `connection`, and end with it."""
    status = 1
    try:
        _keep_only(connection, module)
        process_control(PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() == parent:  # else the zygote died before the line above
            session = _Session(order, _content(MODULE), engines)
            host = socket.socket(fileno=SOCKET)
            lock_down(order.process_limits())
            while (received := receive_request(host)) is not None:
                send_answer(host, session.answer(*received))
            status = 0
    finally:
        os._exit(status)


def _keep_only(connection: int, module: int) -> None:
    """Leave this process two descriptors, at fixed numbers, and silence on the standard ones."""
    silence = os.open(os.devnull, os.O_RDWR)
    # Past every number that is written to below, so that none overwrites a source.
    sources = [os.dup2(each, 100 + at) for at, each in enumerate((connection, module, silence))]
    os.dup2(sources[0], SOCKET)
    os.dup2(sources[1], MODULE)
    for standard in (0, 1, 2):
        os.dup2(sources[2], standard)
    os.closerange(MODULE + 1, 1 << 16)


def _content(descriptor: int) -> bytes:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
        content = bytes(mapped)
    os.close(descriptor)
    return content


class _Session:
    """The one guest, or the one compilation, of this process. Owned by its only thread."""

    def __init__(self, order: Order, code: bytes, engines: Engines) -> None:
        self._engines = engines
        self._order = order
        self._code = code
        self._instance: Instance | None = None

    def answer(self, request: Request, payload: bytes) -> Answer:
        """Carry out one request; every outcome is an answer."""
        try:
            return self._with_usage(Reply.PAYLOAD, self._carry_out(request, payload))
        except JobError as error:
            return self._with_usage(Reply.JOB_ERROR, f"{error.code}\n{error.message}".encode())
        except BlockRefused as error:
            return Answer(Reply.REFUSED, "\n".join(error.faults).encode())
        except MemoryError:
            return Answer(Reply.FAULT, b"out of memory beside the guest's")
        except (Interrupted, Exception) as error:  # noqa: BLE001  # the host logs it; nothing here could
            return Answer(Reply.FAULT, f"{type(error).__name__}: {error}"[:1000].encode())

    def _carry_out(self, request: Request, payload: bytes) -> bytes:
        match request:
            case Request.INIT:
                return self._opened().init(payload)
            case Request.STEP:
                return self._opened().step(payload)
            case Request.ON_TOKEN:
                return self._opened().on_token(payload).to_bytes(4, "little")
            case Request.DESCRIBE:
                return pack_description(self._opened().describe())
            case Request.COMPILE:
                return compile_module(self._code, metered=payload == METERED)
            case _:
                assert_never(request)

    def _opened(self) -> Instance:
        if self._instance is None:
            limits = self._order.guest_limits()
            engine = self._engines.get((limits.fuel is not None, limits.stack_bytes))
            self._instance = Instance(self._code, limits, engine)
            self._code = b""
        return self._instance

    def _with_usage(self, kind: Reply, payload: bytes) -> Answer:
        if self._instance is None:
            return Answer(kind, payload)
        used = self._instance.accounting()
        return Answer(
            kind, payload, round(used.guest_ms * 1e6), used.memory_bytes_peak, used.fuel or 0
        )
