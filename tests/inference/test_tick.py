"""What goes into one batch, tick by tick, without the thread."""

import dataclasses
import math
from collections.abc import Callable

from cuttlebone.generation.outcome import Piece
from cuttlebone.generation.spent import Spent, shared_s
from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.inbox import Inbox, Message, StopAsked, Submitted
from cuttlebone.inference.meter import Meter
from cuttlebone.inference.prompts import PromptMaker
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.inference.tick import Ticker
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode
from inference.conftest import BOUND_S, ask

STORY = {"story": "Once upon a time there was a fox"}


class LateWord(Inbox):
    """An inbox to which a message comes once somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.late: Callable[[], None] | None = None
        self.waited_s: float | None = None
        """How long it would have been waited for at most."""

    def take(self, *, verdicts: int = 1, timeout_s: float | None) -> list[Message]:
        if timeout_s != 0 and self.late is not None:
            late, self.late, self.waited_s = self.late, None, timeout_s
            late()
        return super().take(verdicts=verdicts, timeout_s=timeout_s)


class Ticking:
    """A ticker whose clock moves only by slow batches, so that all it waits for is told by the test."""

    def __init__(self, limits: BatchLimits) -> None:
        self._model = ScriptedModel(STORY)
        self._inbox = LateWord()
        self.meter = Meter()
        self._ticker = Ticker(
            self._model,
            PromptMaker(self._model),
            self._inbox,
            limits,
            self.meter,
            clock=self._now_s,
        )
        self._quick_batches: float = math.inf

    def two_begun(self) -> tuple[Generation, Generation]:
        """Two generations whose guests have their first pieces and have not answered."""
        first, second = self.submit("a"), self.submit("b")
        self.tick()
        assert [first.next(0), second.next(0)] == [Piece("Once")] * 2
        return first, second

    def slow_down(self) -> None:
        """From now on each batch takes ten seconds."""
        self._quick_batches = len(self._model.batches)

    def _now_s(self) -> float:
        return 10.0 * max(0, len(self._model.batches) - self._quick_batches)

    def submit(self, job: str) -> Generation:
        """Leave word of a generation that asks for verdicts."""
        request = dataclasses.replace(ask("story", job=job, tenant=job), asks_verdict=True)
        generation = Generation(request, self._leave_word, lambda: 0.0)
        self._inbox.put(Submitted(generation, prepared=None))
        return generation

    def _leave_word(self, message: VerdictGiven | CancelAsked) -> None:
        self._inbox.put(message)

    def tick(self) -> None:
        assert self._ticker.tick()

    def fail_all(self) -> None:
        self._ticker.fail_all(ErrorCode.CANCELLED, "the model is gone")

    def cancel_and_stop(self, generation: Generation) -> int:
        """Cancel while verdicts are waited for; return how many ran when nothing more came."""
        running: list[int] = []

        def stop() -> None:
            running.append(self.meter.running)
            self._inbox.put(StopAsked())

        def cancel() -> None:
            generation.cancel()
            self._inbox.late = stop

        self._inbox.late = cancel
        assert not self._ticker.tick()
        return running[0]

    def tick_with_late(self, verdict_of: Generation) -> float | None:
        """Tick; the guest of one generation says to go on while it is waited for, and how long at most."""
        self._inbox.late = lambda: verdict_of.verdict(stop=False)
        self.tick()
        return self._inbox.waited_s


def test_a_batch_waits_for_the_verdicts_that_are_on_their_way() -> None:
    ticking = Ticking(BatchLimits(gather_s=BOUND_S))
    first, second = ticking.two_begun()
    first.verdict(stop=False)
    assert ticking.tick_with_late(second) == BOUND_S
    assert [first.next(0), second.next(0)] == [Piece(" upon")] * 2


def test_a_verdict_that_is_not_on_its_way_is_not_waited_for() -> None:
    ticking = Ticking(BatchLimits(gather_s=0.0))
    first, second = ticking.two_begun()
    first.verdict(stop=False)
    ticking.tick()
    assert [first.next(0), second.next(0)] == [Piece(" upon"), None]


def test_a_batch_waits_for_a_tenth_of_what_the_last_one_took() -> None:
    ticking = Ticking(BatchLimits(gather_s=0.0))
    first, second = ticking.two_begun()
    ticking.slow_down()
    for generation in (first, second):
        generation.verdict(stop=False)
    ticking.tick()
    assert [first.next(0), second.next(0)] == [Piece(" upon")] * 2
    first.verdict(stop=False)
    assert ticking.tick_with_late(second) == 1.0
    assert [first.next(0), second.next(0)] == [Piece(" a")] * 2


def test_the_time_of_a_batch_is_shared_by_tokens_also_with_one_that_missed_it() -> None:
    ticking = Ticking(BatchLimits(gather_s=0.0, gather_share=0.0))
    first, second = ticking.two_begun()
    ticking.slow_down()
    for generation in (first, second):
        generation.verdict(stop=False)
    ticking.tick()
    assert shared_s([spent(first)]) == shared_s([spent(second)]) == 5.0
    first.verdict(stop=False)
    ticking.tick()
    assert (shared_s([spent(first)]), shared_s([spent(second)])) == (5.0, 15.0)
    assert shared_s([spent(first), spent(second)]) == 0.0


def spent(generation: Generation) -> Spent:
    """What a generation has cost up to now."""
    return generation.spent(role="writer", endpoint="scripted")


def test_who_comes_while_verdicts_are_waited_for_is_in_the_next_batch() -> None:
    ticking = Ticking(BatchLimits(gather_s=BOUND_S))
    first = ticking.submit("a")
    ticking.tick()
    assert first.next(0) == Piece("Once")
    second = ticking.submit("b")
    assert ticking.tick_with_late(first) == BOUND_S
    assert [first.next(0), second.next(0)] == [Piece(" upon"), Piece("Once")]


def test_a_generation_that_was_cancelled_is_not_shown_as_running_until_the_next_one_comes() -> None:
    ticking = Ticking(BatchLimits())
    generation = ticking.submit("a")
    ticking.tick()
    assert ticking.meter.running == 1

    assert ticking.cancel_and_stop(generation) == 0


def test_nothing_is_shown_as_running_or_kept_once_the_model_is_gone() -> None:
    ticking = Ticking(BatchLimits())
    ticking.submit("a")
    ticking.tick()

    ticking.fail_all()

    meter = ticking.meter
    assert (meter.running, meter.waiting, meter.free_cells, meter.kept_prompts) == (0, 0, 0, 0)
