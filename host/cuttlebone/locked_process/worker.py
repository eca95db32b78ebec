"""What a locked process does, from its birth to its end: lock itself down, then serve one session.

Runs in a fork of the zygote. After `lock_down` nothing may import, open or look anything up: such a
call kills the process.
"""

import os
import signal
import socket
from collections.abc import Mapping
from typing import Final, NoReturn

from cuttlebone.locked_process.frames import Reply, ReplyKind, receive_request, send_reply
from cuttlebone.locked_process.lockdown import lock_down
from cuttlebone.locked_process.program import Program, RequestFailed, Session
from cuttlebone.locked_process.spawn_request import MESSAGE_BYTES_MAX, SpawnRequest
from cuttlebone.syscalls import bind_to_parent

FAULT_CHARS_MAX: Final = 1000
_INBOX: Final = 3


def become_worker(inbox: int, parent: int, programs: Mapping[str, Program]) -> NoReturn:
    """Turn this fork into a process that waits for its spawn request, serves one session, and ends."""
    status = 1
    try:
        if bind_to_parent(parent, signal.SIGKILL):
            _keep_only(inbox)
            # A fork copies each page that it touches. Touching them before there is a request keeps
            # that out of the time of the job.
            for program in programs.values():
                program.warm_up()
            _serve_one(socket.socket(fileno=_INBOX), programs)
            status = 0
    finally:
        os._exit(status)


def _keep_only(descriptor: int) -> None:
    """Leave this process one descriptor, at a fixed number, and silence on the standard ones."""
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    os.dup2(descriptor, _INBOX)
    os.closerange(_INBOX + 1, 1 << 16)


def _serve_one(inbox: socket.socket, programs: Mapping[str, Program]) -> None:
    with inbox:
        message, descriptors, _, _ = socket.recv_fds(inbox, MESSAGE_BYTES_MAX, 2)
    if not message:
        return  # the zygote has ended
    connection, content_file = descriptors
    wanted = SpawnRequest.unpack(message)
    program, content = programs[wanted.program], _content(content_file)
    with socket.socket(fileno=connection) as host:
        lock_down(wanted.limits)
        session = program.open(wanted.arguments, content)
        while (received := receive_request(host)) is not None:
            send_reply(host, _reply(session, *received))


def _content(descriptor: int) -> bytes:
    # By position: the offset of the descriptor is shared with everybody else who has it.
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    os.close(descriptor)
    return content


def _reply(session: Session, request: int, payload: bytes) -> Reply:
    """Carry out one request; every outcome is a reply."""
    try:
        return Reply(ReplyKind.DONE, session.answer(request, payload), session.counters)
    except RequestFailed as failure:
        return Reply(ReplyKind.FAILED, failure.payload, session.counters)
    except MemoryError:
        return Reply(ReplyKind.OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001  # the host logs it; nothing here could
        text = f"{type(error).__name__}: {error}"
        return Reply(ReplyKind.FAULT, text[:FAULT_CHARS_MAX].encode(errors="replace"))
