"""The tick: messages in, one batch through the model, pieces out."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import assert_never

from cuttlebone.errors import CommandError
from cuttlebone.inference.cells import Cells
from cuttlebone.inference.figures import Meter
from cuttlebone.inference.generation import (
    CANCELLED,
    CancelAsked,
    Generation,
    VerdictGiven,
)
from cuttlebone.inference.inbox import (
    Inbox,
    LoadAsked,
    Message,
    StopAsked,
    Submitted,
    UnloadAsked,
)
from cuttlebone.inference.model import DecodeFailed, Model, Run
from cuttlebone.inference.pace import Pace
from cuttlebone.inference.prompts import PromptMaker
from cuttlebone.inference.scheduler import Copy, Plan, Scheduler, SequenceId
from cuttlebone.inference.sequence import BatchLimits, LiveSequence, patience
from cuttlebone_abi import ErrorCode, Finish


class Ticker:
    """All generations of one model. Owned by the inference thread; nothing of it is shared.

    A sequence is in `_sequences` from its submission until its ticket has an outcome; in the
    scheduler until its last token is sampled, which may be earlier: verdicts may be missing.
    """

    def __init__(
        self,
        model: Model,
        prompts: PromptMaker,
        inbox: Inbox,
        limits: BatchLimits,
        meter: Meter,
        clock: Callable[[], float],
    ) -> None:
        info = model.info
        self._model = model
        self._prompts = prompts
        self._inbox = inbox
        self._limits = limits
        self._meter = meter
        self._clock = clock
        self._pace = Pace()
        batch_tokens_max = min(limits.batch_tokens_max, info.batch_tokens_max)
        cells = Cells(
            cells=info.cells,
            slots=min(info.slots, batch_tokens_max - 1),
            kept_cells_max=int(info.cells * limits.kept_cells_share),
            shares=info.shares_prefixes and limits.shares_prefixes,
        )
        self._scheduler = Scheduler(cells, batch_tokens_max=batch_tokens_max)
        self._sequences: dict[SequenceId, LiveSequence] = {}
        self._ids: dict[Generation, SequenceId] = {}
        self._unread: deque[Message] = deque()
        self._numbers = count(1)

    def tick(self) -> bool:
        """Do one round; False once the thread has been asked to stop."""
        if not self._drain():
            return False
        self._admit()
        self._show()
        if self._scheduler.runnable:
            decoding = sum(sequence.sampled is not None for sequence in self._sequences.values())
            plan = self._scheduler.plan(
                self._pace.prefill_tokens(decoding, self._scheduler.prefilling)
            )
            for copy in plan.copies:
                self._copy(copy)
            self._evaluate(self._runs(plan))
            self._deliver()
        return True

    def _show(self) -> None:
        meter, scheduler = self._meter, self._scheduler
        meter.running, meter.waiting = scheduler.running, scheduler.waiting
        meter.free_cells, meter.kept_prompts = scheduler.free_cells, scheduler.kept_prompts

    def fail_all(self, code: ErrorCode, reason: str) -> None:
        """End every generation. The memory is not put in order: nothing follows."""
        for sequence in self._sequences.values():
            sequence.close_sampler()
            sequence.generation.fail(code, reason)
        for message in self._unread:
            if isinstance(message, Submitted):
                message.generation.fail(code, reason)
        self._sequences.clear()
        self._ids.clear()
        self._unread.clear()

    def _drain(self) -> bool:
        """Read the inbox until nothing more is worth waiting for; False when asked to stop."""
        going_on = True
        while True:
            self._admit()  # into what was set free; else waiting would be for nothing
            verdicts, patience_s = patience(self._sequences.values(), self._limits, self._clock())
            timeout_s = patience_s if patience_s or self._scheduler.runnable else None  # for ever
            self._unread.extend(self._inbox.take(verdicts=verdicts, timeout_s=timeout_s))
            while self._unread:
                going_on = self._read(self._unread.popleft()) and going_on
            if not patience_s or not going_on:
                return going_on

    def _read(self, message: Message) -> bool:
        """Act on one message; False if it ends the thread."""
        match message:
            case Submitted():
                self._submit(message)
            case VerdictGiven(generation, stop):
                self._judge(generation, stop=stop)
            case CancelAsked(generation):
                self._cancel(generation)
            case StopAsked():
                return False
            case UnloadAsked():
                return bool(self._sequences or self._unread)
            case LoadAsked():
                pass  # it is loaded
            case _:
                assert_never(message)
        return True

    def _submit(self, message: Submitted) -> None:
        generation, request = message.generation, message.generation.request
        prepared = message.prepared
        if generation.ended:
            return
        if prepared is None:
            try:
                prepared = self._prompts.prepare(request)
            except CommandError as error:
                generation.fail(error.code, error.message)
                return
        key = SequenceId(next(self._numbers))
        sequence = LiveSequence.of(generation, prepared)
        self._sequences[key] = sequence
        self._ids[generation] = key
        self._scheduler.submit(key, sequence.demand)

    def _judge(self, generation: Generation, *, stop: bool) -> None:
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
        elif sequence.unjudged <= self._limits.verdict_lag_max:
            self._scheduler.resume(key)

    def _cancel(self, generation: Generation) -> None:
        key = self._ids.get(generation)
        if key is not None:
            self._fail(key, ErrorCode.CANCELLED, CANCELLED)

    def _admit(self) -> None:
        while (admitted := self._scheduler.admit()) is not None:
            for slot in admitted.evicted:
                self._model.truncate(slot, 0)
            sequence = self._sequences[admitted.sequence]
            sequence.slot = admitted.slot
            if not sequence.generation.admit():
                continue  # cancelled meanwhile: the message is on its way
            self._meter.queue_wait_s += sequence.generation.waited_s
            request = sequence.generation.request
            sequence.sampler = self._model.sampler(request.sampling, sequence.form)

    def _copy(self, copy: Copy) -> None:
        self._model.copy(copy.source, copy.target, copy.tokens)
        sequence = self._sequences[copy.sequence]
        sequence.evaluated = sequence.cached = copy.tokens
        sequence.generation.spend(tokens_in=copy.tokens)
        self._meter.tokens_in += copy.tokens
        self._meter.tokens_cached += copy.tokens

    def _runs(self, plan: Plan) -> list[tuple[SequenceId, Run]]:
        decode = [(key, self._sequences[key].decode_run()) for key in plan.decode]
        chunks = plan.prefill
        prefill = [(chunk.sequence, self._sequences[chunk.sequence].run(chunk)) for chunk in chunks]
        return [(key, run) for key, run in decode + prefill if run is not None]

    def _evaluate(self, runs: Sequence[tuple[SequenceId, Run]]) -> None:
        """Evaluate one batch; if that fails, each run by itself, so that only the broken ones end."""
        begun_s = self._clock()
        try:
            rows = self._model.decode([run for _, run in runs])
        except DecodeFailed as error:
            if len(runs) == 1:
                self._fail(runs[0][0], ErrorCode.INFER_FAILED, str(error), spoiled=True)
                return
            for one in runs:
                if self._taken_back(*one):
                    self._evaluate([one])
            return
        took_s = self._clock() - begun_s
        decode = sum(self._sequences[key].sampled is not None for key, _ in runs)
        tokens = sum(len(run.tokens) for _, run in runs)
        self._pace.took(tokens, took_s)
        self._meter.batch(prefill_tokens=tokens - decode, decode_tokens=decode, took_s=took_s)
        for (key, run), row in zip(runs, rows, strict=True):
            self._take_in(key, run, row)

    def _taken_back(self, key: SequenceId, run: Run) -> bool:
        """Undo what a failed batch may have left in memory; end the sequence if that is impossible."""
        try:
            self._model.truncate(run.slot, run.position)
        except DecodeFailed as error:
            self._fail(key, ErrorCode.INFER_FAILED, str(error), spoiled=True)
            return False
        return True

    def _take_in(self, key: SequenceId, run: Run, row: int) -> None:
        sequence = self._sequences[key]
        sequence.evaluated = run.position + len(run.tokens)
        if sequence.sampled is None:
            sequence.generation.spend(tokens_in=len(run.tokens))
            self._meter.tokens_in += len(run.tokens)
            self._scheduler.evaluated(key, sequence.evaluated)
        if run.wants_logits:
            self._sample(key, sequence, row)

    def _sample(self, key: SequenceId, sequence: LiveSequence, row: int) -> None:
        if sequence.sampler is None:
            return
        first = sequence.sampled is None
        try:
            sequence.sample(self._model, row)
        except DecodeFailed as error:
            self._fail(key, ErrorCode.INFER_FAILED, str(error), spoiled=True)
            return
        self._meter.tokens_out += 1
        if first:
            self._meter.first_tokens += 1
            self._meter.first_token_s += sequence.generation.age_s

    def _deliver(self) -> None:
        """Hand over what the batch gave, all of it after all sampling.

        A delivered piece wakes its job's thread, which then competes for the interpreter.
        """
        now = self._clock()
        for key, sequence in list(self._sequences.items()):
            for piece in sequence.outgoing:
                sequence.asked_s = now
                sequence.generation.deliver(piece)
            sequence.outgoing.clear()
            if sequence.answer.finish is not None:
                self._drop(key)
                if not sequence.unjudged:
                    self._finish(key)
            elif sequence.unjudged > self._limits.verdict_lag_max:
                self._scheduler.hold(key)

    def _finish(self, key: SequenceId) -> None:
        sequence = self._sequences.pop(key)
        del self._ids[sequence.generation]
        outcome = sequence.outcome()
        if isinstance(outcome, str):
            self._meter.failed += 1
            sequence.generation.fail(ErrorCode.INFER_FAILED, outcome)
            return
        self._meter.finished += 1
        sequence.generation.end(outcome, drop_pieces=outcome.finish is Finish.GUEST)

    def _fail(
        self, key: SequenceId, code: ErrorCode, message: str, *, spoiled: bool = False
    ) -> None:
        self._drop(key, spoiled=spoiled)
        sequence = self._sequences.pop(key)
        del self._ids[sequence.generation]
        if code is ErrorCode.CANCELLED:
            self._meter.cancelled += 1
        else:
            self._meter.failed += 1
        sequence.generation.fail(code, message)

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
