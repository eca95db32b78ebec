"""A guest in a locked process of its own, seen from the host."""

import signal
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Final, assert_never

import structlog

from cuttlebone.errors import FaultKind, Interrupted, JobError
from cuttlebone.locked_process.child import Child, ChildDied
from cuttlebone.locked_process.frames import NO_COUNTERS, BrokenFrame, ReplyKind
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.description import Description
from cuttlebone.sandbox.guest import GuestAccounting, GuestLimits
from cuttlebone.sandbox.guest_messages import (
    MESSAGE_CHARS_MAX,
    unpack_counters,
    unpack_description,
    unpack_job_error,
)
from cuttlebone.sandbox.guest_program import GuestRequest, guest_spawn_request
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

# An error message with the last words of a guest, a signature, a verdict: whatever a reply carries that is no command.
_OTHER_BYTES_MAX: Final = 80 << 10

Spawn = Callable[[SpawnRequest, int], Child]
"""Makes a process as requested, with the content of a descriptor."""

_log = structlog.get_logger(__name__)


class GuestProcess:
    """A Guest in a fork of the zygote. Owned by the thread that made it.

    Invariant: the process is ours or dead. A reply that it should not have given means that
    something got out of wasm, and the process is killed for it.
    """

    def __init__(
        self, spawn: Spawn, artefact: Artefact, limits: GuestLimits, *, wants_tokens: bool = False
    ) -> None:
        self.wants_tokens = wants_tokens
        request = guest_spawn_request(limits, artefact.size_bytes)
        self._child = spawn(request, artefact.descriptor())
        self._limits = limits
        self._payload_bytes_max = max(limits.command_bytes, _OTHER_BYTES_MAX)
        self._interrupted = False
        self._steps = 0
        self._counters = NO_COUNTERS
        self._lost_ns = 0

    @property
    def accounting(self) -> GuestAccounting:
        """What the process last said of itself, and how long a call took that it did not survive."""
        used = unpack_counters(self._counters, self._limits, self._steps)
        return replace(used, guest_ms=used.guest_ms + self._lost_ns / 1e6)

    def init(self, payload: bytes) -> bytes:
        """Have the process instantiate and call `cf_init`."""
        self._steps += 1
        return self._ask(GuestRequest.INIT, payload)

    def step(self, payload: bytes) -> bytes:
        """Have the process call `cf_step`."""
        self._steps += 1
        return self._ask(GuestRequest.STEP, payload)

    def on_token(self, piece: bytes) -> int:
        """Have the process call `cf_on_token`."""
        return int.from_bytes(self._ask(GuestRequest.ON_TOKEN, piece)[:4], "little")

    def describe(self) -> Description:
        """Have the process ask the module for ABI version and signature, instead of `init`."""
        try:
            return unpack_description(self._ask(GuestRequest.DESCRIBE, b""))
        except BrokenFrame as error:
            raise self._violation(f"it sent {error}") from None

    def interrupt(self) -> None:
        """Kill the process. There is nothing in a guest worth a gentler end."""
        self._interrupted = True
        self._child.kill()

    def close(self) -> None:
        """End the process and free its descriptors."""
        self._child.close()

    def _ask(self, request: GuestRequest, payload: bytes) -> bytes:
        began = perf_counter_ns()
        try:
            reply = self._child.ask(request, payload, payload_bytes_max=self._payload_bytes_max)
        except ChildDied as death:
            self._lost_ns = perf_counter_ns() - began
            raise self._ended_by(death, request) from None
        match reply.kind:
            case ReplyKind.DONE:
                self._counters = reply.counters
                return reply.payload
            case ReplyKind.FAILED:
                self._counters = reply.counters
                raise self._failure(reply.payload)
            case ReplyKind.OUT_OF_MEMORY:
                raise self._violation("out of memory beside the guest's")
            case ReplyKind.FAULT:
                raise self._violation(
                    printable(reply.payload.decode(errors="replace"), chars_max=MESSAGE_CHARS_MAX)
                )
            case _:
                assert_never(reply.kind)

    def _ended_by(self, death: ChildDied, request: GuestRequest) -> Exception:
        if self._interrupted:
            return Interrupted(f"the guest process was killed during {request.name.lower()}")
        if death.signal_number == signal.SIGXCPU:
            return JobError(
                ErrorCode.TIMEOUT,
                f"the guest spent cpu_s of {self._limits.cpu_s} seconds of processor time",
                fault=FaultKind.ENDLESS,
            )
        return self._violation(str(death))

    def _failure(self, payload: bytes) -> JobError:
        try:
            return unpack_job_error(payload)
        except BrokenFrame as error:
            return self._violation(f"it reported {error}")

    def _violation(self, what: str) -> JobError:
        """Log loudly: wasm itself cannot do this, so somebody should look."""
        self._child.kill()
        _log.error("a guest process ended in a way that wasm cannot cause", how=what)
        message = f"the process of the guest failed: {what}"
        return JobError(ErrorCode.INTERNAL, message, fault=FaultKind.HOST)
