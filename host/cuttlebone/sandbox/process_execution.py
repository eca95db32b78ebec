"""An execution in a process of its own, behind every layer that the kernel offers."""

import signal
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, assert_never

import structlog

from cuttlebone.errors import BlockRefused, Interrupted, JobError
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.child import Child, ChildDied
from cuttlebone.sandbox.execution import Description
from cuttlebone.sandbox.frames import (
    BrokenFrame,
    ProcessReply,
    Reply,
    Request,
    unpack_description,
)
from cuttlebone.sandbox.guest import GuestAccounting, GuestLimits
from cuttlebone.sandbox.spawn_request import SpawnRequest
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

# An error message, a signature, a verdict: whatever an answer carries that is no command.
_OTHER_BYTES_MAX: Final = 80 << 10
_MESSAGE_CHARS_MAX: Final = 4096

Spawn = Callable[[SpawnRequest, int], Child]
"""Makes a process for an order, with the content of a descriptor."""

_log = structlog.get_logger(__name__)


class ProcessExecution:
    """An Execution in a fork of the zygote. Owned by the thread that made it.

    Invariant: the process is ours or dead. An answer that it should not have given means that
    something got out of wasm, and the process is killed for it.
    """

    def __init__(self, spawn: Spawn, artefact: Artefact, limits: GuestLimits) -> None:
        order = SpawnRequest.for_guest(limits, artefact.size_bytes)
        self._child = spawn(order, artefact.descriptor())
        self._limits = limits
        self._payload_bytes_max = max(limits.command_bytes, _OTHER_BYTES_MAX)
        self._interrupted = False
        self._steps = 0
        self._used = ProcessReply(Reply.PAYLOAD)
        self._lost_ns = 0

    def init(self, payload: bytes) -> bytes:
        """Have the process instantiate and call `cf_init`."""
        self._steps += 1
        return self._ask(Request.INIT, payload)

    def step(self, payload: bytes) -> bytes:
        """Have the process call `cf_step`."""
        self._steps += 1
        return self._ask(Request.STEP, payload)

    def on_token(self, piece: bytes) -> int:
        """Have the process call `cf_on_token`."""
        return int.from_bytes(self._ask(Request.ON_TOKEN, piece)[:4], "little")

    def describe(self) -> Description:
        """Have the process ask the module for ABI version and signature."""
        try:
            return unpack_description(self._ask(Request.DESCRIBE, b""))
        except BrokenFrame as error:
            raise self._violation(str(error)) from None

    def interrupt(self) -> None:
        """Kill the process. There is nothing in a guest worth a gentler end."""
        self._interrupted = True
        self._child.kill()

    def accounting(self) -> GuestAccounting:
        """What the process last said of itself, and how long a call took that it did not survive."""
        used = self._used
        fuel = None
        if self._limits.fuel is not None:
            # The process reports what it spent; more than there was would be a lie.
            fuel = min(used.fuel, self._limits.fuel)
        memory_bytes = min(used.memory_bytes, self._limits.memory_bytes)
        return GuestAccounting(
            (used.guest_ns + self._lost_ns) / 1e6, memory_bytes, self._steps, fuel
        )

    def close(self) -> None:
        """End the process and free its descriptors."""
        self._child.close()

    def _ask(self, request: Request, payload: bytes) -> bytes:
        began = perf_counter_ns()
        try:
            answer = self._child.ask(request, payload, payload_bytes_max=self._payload_bytes_max)
        except ChildDied as death:
            self._lost_ns = perf_counter_ns() - began
            raise self._ended_by(death, request) from None
        self._used = answer
        match answer.kind:
            case Reply.PAYLOAD:
                return answer.payload
            case Reply.JOB_ERROR:
                raise self._job_error(answer.payload)
            case Reply.REFUSED:
                raise BlockRefused((_text(answer.payload),))
            case Reply.FAULT:
                if self._interrupted:
                    raise Interrupted(request.name)
                raise self._violation(_text(answer.payload))
            case _:
                assert_never(answer.kind)

    def _ended_by(self, death: ChildDied, request: Request) -> Exception:
        if self._interrupted:
            return Interrupted(f"the guest process was killed during {request.name.lower()}")
        if death.signal_number == signal.SIGXCPU:
            return JobError(
                ErrorCode.TIMEOUT,
                f"the guest spent cpu_s of {self._limits.cpu_s} seconds of processor time",
            )
        return self._violation(str(death))

    def _violation(self, what: str) -> JobError:
        """Log loudly: wasm itself cannot do this, so somebody should look."""
        self._child.kill()
        _log.error("a guest process ended in a way that wasm cannot cause", how=what)
        return JobError(ErrorCode.INTERNAL, f"the process of the guest failed: {what}")

    def _job_error(self, payload: bytes) -> JobError:
        code, _, message = payload.decode(errors="replace").partition("\n")
        if code not in (ErrorCode.WASM_TRAP, ErrorCode.LIMIT_EXCEEDED):
            return self._violation(f"it reported the code {printable(code)}")
        return JobError(ErrorCode(code), printable(message, chars_max=_MESSAGE_CHARS_MAX))


def _text(payload: bytes) -> str:
    return printable(payload.decode(errors="replace"), chars_max=_MESSAGE_CHARS_MAX)
