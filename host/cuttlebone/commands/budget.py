"""What one job may still spend, and the one decision that ends it from outside."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from cuttlebone.errors import CommandError, JobError
from cuttlebone.job_options import Limits
from cuttlebone_abi import ErrorCode


class WaitClock(Protocol):
    """Something whose waiting is the fault of other jobs: a generation."""

    @property
    def waited_s(self) -> float:
        """Seconds waited so far."""


class Budget:
    """Counts a job's spending against its limits; the first cause to end the job wins.

    Owner: the job thread. `stop`, `expire` and `due_in_s` may be called from any thread.
    Invariant: once `stop` or `settle` has returned True, the other never does.
    """

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.steps = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self._clock = clock
        self._started = clock()
        self._waited_s = 0.0
        self._waiting: WaitClock | None = None
        self._infer_calls = 0
        self._events = 0
        self._event_bytes = 0
        self._lock = threading.Lock()
        self._end: JobError | None = None
        self._settled = False
        self._on_stop: list[Callable[[], None]] = []

    # --- the end from outside -------------------------------------------------------------

    def stop(self, cause: JobError) -> bool:
        """End the job for `cause`, unless it has ended already; tell whether this call did."""
        with self._lock:
            if self._end is not None or self._settled:
                return False
            self._end = cause
            callbacks = list(self._on_stop)
        for callback in callbacks:
            callback()
        return True

    def settle(self) -> bool:
        """Let the guest's own result stand, unless the job was stopped before."""
        with self._lock:
            self._settled = self._end is None
            return self._settled

    @contextmanager
    def when_stopped(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` (from any thread, once) if the job is stopped while the body runs."""
        with self._lock:
            self._on_stop.append(callback)
            stopped = self._end is not None
        if stopped:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._on_stop.remove(callback)

    @property
    def end(self) -> JobError | None:
        """Why the job was stopped, if it was."""
        return self._end

    def check(self) -> None:
        """Raise the JobError of a stopped job."""
        if self._end is not None:
            raise self._end

    # --- time -----------------------------------------------------------------------------

    @contextmanager
    def waiting_for(self, generation: WaitClock) -> Iterator[None]:
        """Leave the waiting of `generation` out of the job's time, into its own bound."""
        self._waiting = generation
        try:
            yield
        finally:
            self._waiting = None
            self._waited_s += generation.waited_s

    @property
    def elapsed_s(self) -> float:
        """Wall clock since the job started to run, waiting included."""
        return self._clock() - self._started

    def due_in_s(self) -> float:
        """Seconds until `expire` can end the job, if nothing else happens."""
        waited = self._waited_now()
        time_left = self.limits.time_ms / 1000 - (self.elapsed_s - waited)
        wait_left = self.limits.infer_wait_ms / 1000 - waited
        return min(time_left, wait_left) if self._waiting is not None else time_left

    def expire(self) -> bool:
        """End the job as `timeout` if a time budget is spent; tell whether it was."""
        if self.due_in_s() > 0:
            return False
        limits, waited = self.limits, self._waited_now()
        if waited * 1000 >= limits.infer_wait_ms:
            message = f"infer_wait_ms: waited {limits.infer_wait_ms} ms for the model"
        else:
            message = f"time_ms: the job ran for {limits.time_ms} ms without an end"
        return self.stop(JobError(ErrorCode.TIMEOUT, message))

    @property
    def waited_s(self) -> float:
        """Seconds that ended generations waited."""
        return self._waited_s

    def _waited_now(self) -> float:
        waiting = self._waiting
        return self._waited_s + (waiting.waited_s if waiting is not None else 0.0)

    # --- counts ---------------------------------------------------------------------------

    def spend_step(self) -> None:
        """Count one call of `cf_init` or `cf_step`; raise JobError over the limit."""
        self.check()
        if self.steps >= self.limits.steps:
            raise _exceeded_for_good("steps", self.limits.steps)
        self.steps += 1

    def spend_event(self, size: int) -> None:
        """Count one progress event of `size` bytes; raise CommandError over a limit."""
        if self._events >= self.limits.events:
            raise _exceeded("events", self.limits.events)
        if self._event_bytes + size > self.limits.event_bytes:
            raise _exceeded("event_bytes", self.limits.event_bytes)
        self._events += 1
        self._event_bytes += size

    def spend_infer_call(self) -> None:
        """Count one generation; raise CommandError over the limit."""
        if self._infer_calls >= self.limits.infer_calls:
            raise _exceeded("infer_calls", self.limits.infer_calls)
        self._infer_calls += 1

    @property
    def tokens_out_left(self) -> int:
        """Tokens that may still be generated."""
        return self.limits.tokens_out - self.tokens_out

    def check_tokens_in(self, more: int) -> None:
        """Raise JobError if `more` prompt tokens do not fit any more."""
        if self.tokens_in + more > self.limits.tokens_in:
            raise _exceeded_for_good("tokens_in", self.limits.tokens_in)

    def spend_tokens(self, tokens_in: int, tokens_out: int) -> None:
        """Count what a generation took, however it ended."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def tokens_out_exceeded(self) -> JobError:
        """Name the limit that a generation ran into."""
        return _exceeded_for_good("tokens_out", self.limits.tokens_out)


def _exceeded(name: str, value: int) -> CommandError:
    return CommandError(ErrorCode.LIMIT_EXCEEDED, _limit_message(name, value))


def _exceeded_for_good(name: str, value: int) -> JobError:
    return JobError(ErrorCode.LIMIT_EXCEEDED, _limit_message(name, value))


def _limit_message(name: str, value: int) -> str:
    return f"{name}: the job may use at most {value}; raise `limits.{name}` in the spec"
