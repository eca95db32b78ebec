"""A guest whose every command and event is told to somebody, with the time that it took."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from cuttlebone.errors import Interrupted, JobError
from cuttlebone.sandbox import Guest, GuestAccounting


class Traced(StrEnum):
    """What an entry of a trace tells."""

    INPUT = "input"
    """The job's input, given to `cf_init`."""
    COMMAND = "command"
    """What the guest returned; the time is that inside the guest."""
    EVENT = "event"
    """What the host answered; the time is that of carrying the command out."""
    STOP = "stop"
    """The piece of a generation to which the guest said stop."""
    END = "end"
    """The guest returned nothing: it trapped, or was stopped."""


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One thing that passed between host and guest."""

    kind: Traced
    step: int
    """Number of the call into the guest: 1 for `cf_init`."""
    at_ms: float
    """Since the start."""
    took_ms: float
    text: str
    """The JSON, the piece, or the reason of the end."""


Tell = Callable[[TraceEntry], None]


class TracingGuest:
    """A guest around another one. Owner: the job thread, in which `tell` is called."""

    def __init__(
        self, guest: Guest, tell: Tell, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._guest = guest
        self._tell = tell
        self._clock = clock
        self._started = clock()
        self._returned = self._started
        self._step = 0

    @property
    def wants_tokens(self) -> bool:
        """Whether the block exports `cf_on_token`."""
        return self._guest.wants_tokens

    @property
    def accounting(self) -> GuestAccounting:
        """What has been used so far."""
        return self._guest.accounting

    def init(self, payload: bytes) -> bytes:
        """Tell the input, call `cf_init`, tell the command."""
        return self._traced(Traced.INPUT, self._guest.init, payload)

    def step(self, payload: bytes) -> bytes:
        """Tell the event, call `cf_step`, tell the command."""
        return self._traced(Traced.EVENT, self._guest.step, payload)

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token`, and tell if it says stop."""
        began = self._clock()
        verdict = self._guest.on_token(piece)
        if verdict:
            self._note(Traced.STOP, self._clock() - began, piece)
        return verdict

    def interrupt(self) -> None:
        """Stop the running call, or else the next one."""
        self._guest.interrupt()

    def close(self) -> None:
        """Free everything."""
        self._guest.close()

    def _traced(self, given: Traced, call: Callable[[bytes], bytes], payload: bytes) -> bytes:
        began = self._clock()
        self._step += 1
        self._note(given, began - self._returned, payload)
        try:
            reply = call(payload)
        except (JobError, Interrupted) as error:
            self._note(Traced.END, self._clock() - began, str(error).encode())
            raise
        self._returned = self._clock()
        self._note(Traced.COMMAND, self._returned - began, reply)
        return reply

    def _note(self, kind: Traced, took_s: float, data: bytes) -> None:
        at_ms = (self._clock() - self._started) * 1000
        self._tell(
            TraceEntry(kind, self._step, at_ms, took_s * 1000, data.decode(errors="replace"))
        )
