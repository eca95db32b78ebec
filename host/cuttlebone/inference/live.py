"""The live sequences of one model: what becomes of each between its submission and its outcome."""

from collections.abc import Iterator, Sequence
from itertools import count

from cuttlebone.generation.outcome import CANCELLED
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.meter import Meter
from cuttlebone.inference.model import Model, Run
from cuttlebone.inference.prompts import Prepared
from cuttlebone.inference.scheduler import Scheduler
from cuttlebone.inference.sequence import LiveSequence
from cuttlebone.inference.turns import SequenceId
from cuttlebone_abi import ErrorCode, Finish


class LiveSequences:
    """All sequences of one model. Owned by the ticker; nothing of it is shared.

    Invariants: a sequence is in here from its submission until its ticket has an outcome; in the
    scheduler until its last token is sampled, which may be earlier: verdicts may be missing.
    """

    def __init__(
        self, model: Model, scheduler: Scheduler, meter: Meter, *, verdict_lag_max: int
    ) -> None:
        self._model = model
        self._scheduler = scheduler
        self._meter = meter
        self._verdict_lag_max = verdict_lag_max
        self._sequences: dict[SequenceId, LiveSequence] = {}
        self._ids: dict[Generation, SequenceId] = {}
        self._numbers = count(1)
        self._batches_s = 0.0
        """Seconds that batches took so far, all together."""

    def __getitem__(self, key: SequenceId) -> LiveSequence:
        return self._sequences[key]

    def __iter__(self) -> Iterator[LiveSequence]:
        return iter(self._sequences.values())

    def __len__(self) -> int:
        return len(self._sequences)

    @property
    def decoding(self) -> int:
        """Sequences that have a token to be evaluated."""
        return sum(sequence.sampled is not None for sequence in self)

    def begin(self, generation: Generation, prepared: Prepared) -> None:
        """Let a generation wait for its place."""
        key = SequenceId(next(self._numbers))
        sequence = LiveSequence.of(generation, prepared)
        self._sequences[key] = sequence
        self._ids[generation] = key
        self._scheduler.submit(key, sequence.demand)

    def judge(self, generation: Generation, *, stop: bool) -> None:
        """Take a guest's verdict on a piece; one that nobody waits for does nothing."""
        key = self._ids.get(generation)
        if key is None or not self._sequences[key].unjudged:
            return
        sequence = self._sequences[key]
        sequence.judged += 1
        if stop:
            sequence.answer.cut_after(sequence.judged)
            self._drop(key)
        if sequence.answer.finish is not None:
            if not sequence.unjudged:
                self._finish(key)
        elif sequence.unjudged <= self._verdict_lag_max:
            self._scheduler.resume(key)

    def took(self, runs: Sequence[tuple[SequenceId, Run]], took_s: float) -> None:
        """Note for all that have their places whose part of a batch was how long."""
        tokens = sum(len(run.tokens) for _, run in runs)
        own_s = {key: took_s * len(run.tokens) / tokens for key, run in runs}
        from_s, self._batches_s = self._batches_s, self._batches_s + took_s
        for key, one in self._sequences.items():
            if one.slot is not None and one.scheduled:
                one.generation.ran_beside(from_s, self._batches_s, own_s=own_s.get(key, 0.0))

    def deliver(self, now_s: float) -> None:
        """Hand over what the batch gave, all of it after all sampling.

        A delivered piece wakes its job's thread, which then competes for the interpreter.
        """
        for key, sequence in list(self._sequences.items()):
            for piece in sequence.outgoing:
                sequence.asked_s = now_s
                sequence.generation.deliver(piece)
            sequence.outgoing.clear()
            if sequence.answer.finish is not None:
                self._drop(key)
                if not sequence.unjudged:
                    self._finish(key)
            elif sequence.unjudged > self._verdict_lag_max:
                self._scheduler.hold(key)

    def cancel(self, generation: Generation) -> None:
        """End a generation, unless it has ended."""
        key = self._ids.get(generation)
        if key is not None:
            self._drop(key)
            self._meter.cancelled += 1
            self._remove(key).generation.fail(ErrorCode.CANCELLED, CANCELLED)

    def fail(self, key: SequenceId, reason: str) -> None:
        """End a sequence that the model failed on; what it has in memory is of no use to others."""
        self._drop(key, spoiled=True)
        self._meter.failed += 1
        self._remove(key).generation.fail(ErrorCode.INFER_FAILED, reason)

    def fail_all(self, code: ErrorCode, reason: str) -> None:
        """End all of them. The memory is not put in order: nothing follows."""
        for sequence in self:
            sequence.close_sampler()
            sequence.generation.fail(code, reason)
        self._sequences.clear()
        self._ids.clear()

    def _finish(self, key: SequenceId) -> None:
        sequence = self._remove(key)
        outcome = sequence.outcome()
        if isinstance(outcome, str):
            self._meter.failed += 1
            sequence.generation.fail(ErrorCode.INFER_FAILED, outcome)
            return
        self._meter.finished += 1
        sequence.generation.end(outcome, drop_pieces=outcome.finish is Finish.GUEST)

    def _remove(self, key: SequenceId) -> LiveSequence:
        sequence = self._sequences.pop(key)
        del self._ids[sequence.generation]
        return sequence

    def _drop(self, key: SequenceId, *, spoiled: bool = False) -> None:
        """Give up a sequence's place in line, batch and memory; it may have none any more."""
        sequence = self._sequences[key]
        sequence.close_sampler()
        if not sequence.scheduled:
            return
        sequence.scheduled = False
        released = self._scheduler.remove(key, spoiled=spoiled)
        if released is not None:
            self._model.truncate(released.slot, released.kept_tokens)
            for slot in released.dropped:
                self._model.truncate(slot, 0)
