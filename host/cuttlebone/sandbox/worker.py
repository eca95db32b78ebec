"""What a guest process does, from its birth to its end: lock itself down, then serve one guest.

Runs in a fork of the zygote. After `lock_down` nothing may import, open or look anything up: such a
call kills the process.
"""

import mmap
import os
import signal
import socket
from typing import Final, NoReturn, assert_never

from cuttlebone.errors import BlockRefused, Interrupted, JobError
from cuttlebone.sandbox.compiling import compile_module
from cuttlebone.sandbox.frames import (
    METERED,
    ProcessReply,
    Reply,
    Request,
    pack_description,
    receive_request,
    send_answer,
)
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.lockdown import lock_down
from cuttlebone.sandbox.spawn_request import SpawnRequest
from cuttlebone.sandbox.warm_up import Equipment, warm_up
from cuttlebone.syscalls import bind_to_parent

SPAWN_REQUEST_BYTES_MAX: Final = 4096
_ORDERS: Final = 3


def become_worker(orders: int, parent: int, equipment: Equipment) -> NoReturn:
    """Turn this fork into a process that waits for its order, serves one guest, and ends."""
    status = 1
    try:
        if bind_to_parent(parent, signal.SIGKILL):
            _keep_only(orders)
            # A fork copies each page that it touches. Touching them before there is an order keeps
            # that out of the time of the job.
            warm_up(equipment)
            _serve_one(socket.socket(fileno=_ORDERS), equipment)
            status = 0
    finally:
        os._exit(status)


def _keep_only(descriptor: int) -> None:
    """Leave this process one descriptor, at a fixed number, and silence on the standard ones."""
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.dup2(descriptor, _ORDERS)
    os.closerange(_ORDERS + 1, 1 << 16)


def _serve_one(orders: socket.socket, equipment: Equipment) -> None:
    with orders:
        message, descriptors, _, _ = socket.recv_fds(orders, SPAWN_REQUEST_BYTES_MAX, 2)
    if not message:
        return  # the zygote has ended
    connection, module = descriptors
    order = SpawnRequest.model_validate_json(message)
    session = _Session(order, _content(module), equipment)
    with socket.socket(fileno=connection) as host:
        lock_down(order.process_limits())
        while (received := receive_request(host)) is not None:
            send_answer(host, session.answer(*received))


def _content(descriptor: int) -> bytes:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
        content = bytes(mapped)
    os.close(descriptor)
    return content


class _Session:
    """The one guest, or the one compilation, of this process. Owned by its only thread."""

    def __init__(self, order: SpawnRequest, code: bytes, equipment: Equipment) -> None:
        self._equipment = equipment
        self._order = order
        self._code = code
        self._instance: Instance | None = None

    def answer(self, request: Request, payload: bytes) -> ProcessReply:
        """Carry out one request; every outcome is an answer."""
        try:
            return self._with_usage(Reply.PAYLOAD, self._carry_out(request, payload))
        except JobError as error:
            return self._with_usage(Reply.JOB_ERROR, f"{error.code}\n{error.message}".encode())
        except BlockRefused as error:
            return ProcessReply(Reply.REFUSED, "\n".join(error.faults).encode())
        except MemoryError:
            return ProcessReply(Reply.FAULT, b"out of memory beside the guest's")
        except (Interrupted, Exception) as error:  # noqa: BLE001  # the host logs it; nothing here could
            return ProcessReply(Reply.FAULT, f"{type(error).__name__}: {error}"[:1000].encode())

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
            limits = self._order.limits
            self._instance = Instance(self._code, limits, self._equipment.engine_for(limits))
            self._code = b""
        return self._instance

    def _with_usage(self, kind: Reply, payload: bytes) -> ProcessReply:
        if self._instance is None:
            return ProcessReply(kind, payload)
        used = self._instance.accounting()
        return ProcessReply(
            kind, payload, round(used.guest_ms * 1e6), used.memory_bytes_peak, used.fuel or 0
        )
