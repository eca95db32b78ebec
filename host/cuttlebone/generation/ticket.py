"""The ticket through which the answer to a request comes back."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cuttlebone.generation.outcome import CANCELLED, FailedGeneration, Outcome, Piece
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.spent import Spent
from cuttlebone_abi import ErrorCode


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """The guest has answered for its oldest unanswered piece."""

    generation: "Generation"
    stop: bool


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """Nobody wants this generation any more."""

    generation: "Generation"


class Recipient(Protocol):
    """Where a ticket leaves word for whoever generates; must not block."""

    def __call__(self, message: VerdictGiven | CancelAsked, /) -> None:
        """Take one message."""


class Generation:
    """The ticket of one accepted request; it always ends in exactly one outcome.

    Who asked takes (`next`, `verdict`), who generates gives (`admit`, `spend`, `deliver`, `end`),
    each in a thread of its own, and anybody may `cancel`, `wake` or read the numbers. All state is guarded
    by one lock, is never waited for while it is held, and no longer changes once `_outcome` is set.
    """

    def __init__(
        self, request: GenerationRequest, recipient: Recipient, clock: Callable[[], float]
    ) -> None:
        self.request = request
        self._recipient = recipient
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._pieces: deque[Piece] = deque()
        self._outcome: Outcome | None = None
        self._woken = False
        self._submitted_s = clock()
        self._waited_s: float | None = None
        self._admitted_s: float | None = None
        self._first_token_s: float | None = None
        self._ended_s: float | None = None
        self._exact = True
        self._tokens_in = 0
        self._tokens_cached = 0
        self._tokens_out = 0
        self._own_s = 0.0
        self._batches_s: tuple[float, float] | None = None

    # For who asked.

    def next(self, timeout_s: float | None = None) -> Piece | Outcome | None:
        """Take the next piece or, after the last one, the outcome, again and again.

        None says that `timeout_s` is over or that `wake` was called.
        """
        with self._changed:
            self._changed.wait_for(self._anything, timeout_s)
            self._woken = False
            if self._pieces:
                return self._pieces.popleft()
            return self._outcome

    def verdict(self, stop: bool) -> None:  # noqa: FBT001 -- the guest's answer, not an option
        """Answer for the oldest piece not answered yet; with `stop` the text ends with that piece."""
        self._recipient(VerdictGiven(self, stop))

    # For any thread.

    def cancel(self) -> None:
        """Ask for the end. The outcome follows within one tick; one that exists already stays.

        Before admission it is set at once: who generates may be busy loading.
        """
        if not self.admitted:
            self.fail(ErrorCode.CANCELLED, CANCELLED)
        self._recipient(CancelAsked(self))

    def wake(self) -> None:
        """Make the current or the following `next` return, so that its caller looks around."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def tokens_in(self) -> int:
        """Prompt tokens evaluated or taken from the cache so far."""
        with self._changed:
            return self._tokens_in

    @property
    def tokens_out(self) -> int:
        """Tokens sampled so far, whether or not they came to be text."""
        with self._changed:
            return self._tokens_out

    @property
    def tokens_cached(self) -> int:
        """Of the prompt tokens, those taken from the cache."""
        with self._changed:
            return self._tokens_cached

    @property
    def waited_s(self) -> float:
        """Seconds from submission to admission (loading of the model included), or until now."""
        with self._changed:
            return self._waited()

    @property
    def age_s(self) -> float:
        """Seconds since submission."""
        return self._clock() - self._submitted_s

    @property
    def prefill_s(self) -> float:
        """Seconds from admission to the first token, or to the end."""
        with self._changed:
            return self._stretch(self._admitted_s, self._first_token_s)

    @property
    def decode_s(self) -> float:
        """Seconds from the first token to the end, waiting for verdicts included."""
        with self._changed:
            return self._stretch(self._first_token_s, None)

    def spent(self, *, role: str, endpoint: str) -> Spent:
        """All of these numbers at one moment, of a generation that was asked of `role`."""
        with self._changed:
            from_s, to_s = self._batches_s or (0.0, 0.0)
            return Spent(
                tenant=self.request.tenant,
                role=role,
                endpoint=endpoint,
                tokens_in=self._tokens_in,
                tokens_cached=self._tokens_cached,
                tokens_out=self._tokens_out,
                submitted_s=self._submitted_s,
                waited_s=self._waited(),
                prefill_s=self._stretch(self._admitted_s, self._first_token_s),
                decode_s=self._stretch(self._first_token_s, None),
                own_s=self._own_s,
                batches_from_s=from_s,
                batches_to_s=to_s,
                exact=self._exact,
            )

    @property
    def admitted(self) -> bool:
        """Whether it has its place in the batch, so that time counts as its own."""
        with self._changed:
            return self._admitted_s is not None

    @property
    def ended(self) -> bool:
        """Whether there is an outcome."""
        with self._changed:
            return self._outcome is not None

    # For who generates.

    def admit(self, *, exact: bool = True) -> bool:
        """Stop counting time as waiting; False if the generation has ended meanwhile.

        `exact` is what `Spent` will say of it.
        """
        with self._changed:
            if self._outcome is not None:
                return False
            self._waited_s = self._waited()
            self._admitted_s = self._clock()
            self._exact = exact
            self._changed.notify_all()
            return True

    def spend(self, *, tokens_in: int = 0, tokens_cached: int = 0, tokens_out: int = 0) -> None:
        """Add to what the generation has cost; cached tokens are among those in."""
        with self._changed:
            if tokens_out and self._first_token_s is None:
                self._first_token_s = self._clock()
            self._tokens_in += tokens_in
            self._tokens_cached += tokens_cached
            self._tokens_out += tokens_out

    def ran_beside(self, from_s: float, to_s: float, *, own_s: float) -> None:
        """Note a batch that ran while it had its place, by the clock of batches; `own_s` was for it."""
        with self._changed:
            begun_s = from_s if self._batches_s is None else self._batches_s[0]
            self._batches_s = (begun_s, to_s)
            self._own_s += own_s

    def deliver(self, piece: Piece) -> None:
        """Hand one piece over."""
        with self._changed:
            if self._outcome is None:
                self._pieces.append(piece)
                self._changed.notify_all()

    def end(self, outcome: Outcome, *, drop_pieces: bool = False) -> None:
        """Set the outcome, unless there is one; `drop_pieces` takes back what was not taken yet."""
        with self._changed:
            if self._outcome is None:
                self._waited_s = self._waited()
                self._ended_s = self._clock()
                self._outcome = outcome
                if drop_pieces:
                    self._pieces.clear()
                self._changed.notify_all()

    def fail(self, code: ErrorCode, message: str) -> None:
        """End as failed with what was spent so far."""
        with self._changed:
            spent_in, spent_out = self._tokens_in, self._tokens_out
        self.end(FailedGeneration(code, message, spent_in, spent_out), drop_pieces=True)

    def _anything(self) -> bool:
        return bool(self._pieces) or self._outcome is not None or self._woken

    def _waited(self) -> float:
        return self._clock() - self._submitted_s if self._waited_s is None else self._waited_s

    def _stretch(self, begin_s: float | None, end_s: float | None) -> float:
        """Seconds between two moments; what has not ended yet goes on, what never began is 0."""
        if begin_s is None:
            return 0.0
        moments = (end_s, self._ended_s, self._clock())
        return next(moment for moment in moments if moment is not None) - begin_s
