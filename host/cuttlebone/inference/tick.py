"""The tick: messages in, one batch through the model, pieces out."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import assert_never

from cuttlebone.errors import CommandError, JobError
from cuttlebone.generation.ticket import CancelAsked, VerdictGiven
from cuttlebone.inference.inbox import (
    Inbox,
    LoadAsked,
    Message,
    StopAsked,
    Submitted,
    UnloadAsked,
)
from cuttlebone.inference.kv_cells import KvCells, KvRules
from cuttlebone.inference.live import LiveSequences
from cuttlebone.inference.meter import Meter
from cuttlebone.inference.model import DecodeFailed, Model, Run
from cuttlebone.inference.prefill_pacer import PrefillPacer
from cuttlebone.inference.prompts import PromptMaker
from cuttlebone.inference.scheduler import Copy, Plan, Scheduler
from cuttlebone.inference.sequence import BatchLimits, LiveSequence, patience
from cuttlebone.inference.turns import SequenceId
from cuttlebone_abi import ErrorCode


class Ticker:
    """One model and all its generations. Owned by the inference thread; nothing of it is shared.

    Invariant: what was taken from the inbox is in `_unread` until it is acted on, so that
    `fail_all` reaches everybody.
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
        self._pacer = PrefillPacer(
            prompts_apart=not info.kv_shape.is_pool, abortable=info.interruptible
        )
        batch_tokens_max = min(limits.batch_tokens_max, info.batch_tokens_max)
        rules = KvRules.of(
            info,
            slots_max=batch_tokens_max - 1,
            kept_share=limits.kept_cells_share,
            shares=limits.shares_prefixes,
        )
        self._scheduler = Scheduler(
            KvCells(rules),
            batch_tokens_max=batch_tokens_max,
            chunk_tokens_min=info.chunk_tokens_min,
        )
        self._live = LiveSequences(
            model, self._scheduler, meter, verdict_lag_max=limits.verdict_lag_max
        )
        self._unread: deque[Message] = deque()
        self._batch_s = 0.0
        self._interrupted = False
        """Whether the last batch was. The next one is not, so that cancels delay others, and no more."""

    def tick(self) -> bool:
        """Do one round; False once the thread has been asked to stop."""
        if not self._drain():
            return False
        self._admit()
        self._show()
        if self._scheduler.runnable:
            pacer, scheduler = self._pacer, self._scheduler
            plan = scheduler.plan(
                pacer.prefill_tokens(self._live.decoding, scheduler.prompt_weight),
                prompt_costs_tokens=pacer.prompt_costs_tokens,
            )
            for copy in plan.copies:
                self._copy(copy)
            self._evaluate(self._runs(plan))
            self._live.deliver(self._clock())
        return True

    def _show(self) -> None:
        meter, scheduler = self._meter, self._scheduler
        meter.running, meter.waiting = scheduler.running, scheduler.waiting
        meter.free_cells, meter.kept_prompts = scheduler.free_cells, scheduler.kept_prompts

    def fail_all(self, code: ErrorCode, reason: str) -> None:
        """End every generation. The memory is not put in order: nothing follows."""
        self._live.fail_all(code, reason)
        for message in self._unread:
            if isinstance(message, Submitted):
                message.generation.fail(code, reason)
        self._unread.clear()
        meter = self._meter
        meter.running = meter.waiting = meter.free_cells = meter.kept_prompts = 0

    def _drain(self) -> bool:
        """Read the inbox until nothing more is worth waiting for; False when asked to stop."""
        going_on = True
        while True:
            self._admit()  # into what was set free; else waiting would be for nothing
            self._show()  # now: nobody knows how long nothing will come
            verdicts, patience_s = patience(
                self._live, self._limits, self._clock(), batch_s=self._batch_s
            )
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
                self._live.judge(generation, stop=stop)
            case CancelAsked(generation):
                self._live.cancel(generation)
            case StopAsked():
                return False
            case UnloadAsked():
                return bool(self._live or self._unread)
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
            except (CommandError, JobError) as error:
                generation.fail(error.code, error.message)
                return
        self._live.begin(generation, prepared)

    def _admit(self) -> None:
        while (admitted := self._scheduler.admit()) is not None:
            for slot in admitted.evicted:
                self._model.truncate(slot, 0)
            sequence = self._live[admitted.sequence]
            sequence.slot = admitted.slot
            if not sequence.generation.admit(exact=self._model.info.exact):
                continue  # cancelled meanwhile: the message is on its way
            self._meter.queue_wait_s += sequence.generation.waited_s
            request = sequence.generation.request
            sequence.sampler = self._model.sampler(request.sampling, sequence.constraint)

    def _copy(self, copy: Copy) -> None:
        self._model.copy(copy.source, copy.target, copy.tokens)
        generation = self._live[copy.sequence].generation
        generation.spend(tokens_in=copy.tokens, tokens_cached=copy.tokens)
        self._meter.tokens_in += copy.tokens
        self._meter.tokens_cached += copy.tokens

    def _runs(self, plan: Plan) -> list[tuple[SequenceId, Run]]:
        decode = [(key, self._live[key].decode_run()) for key in plan.decode]
        chunks = plan.prefill
        prefill = [(chunk.sequence, self._live[chunk.sequence].run(chunk)) for chunk in chunks]
        return [(key, run) for key, run in decode + prefill if run is not None]

    def _evaluate(self, runs: Sequence[tuple[SequenceId, Run]]) -> None:
        """Evaluate one batch; if that fails, each run by itself, so that only the broken ones end."""
        begun_s = self._clock()
        interrupt = None if self._interrupted else self._inbox.interrupt
        try:
            done = self._model.decode([run for _, run in runs], interrupt)
        except DecodeFailed as error:
            if len(runs) == 1:
                self._live.fail(runs[0][0], str(error))
                return
            for one in runs:
                if self._taken_back(*one):
                    self._evaluate([one])
            return
        self._interrupted = len(done) < len(runs)
        self._took([runs[index] for index in done], self._clock() - begun_s)
        for index in done:
            self._take_in(*runs[index], index)

    def _took(self, runs: Sequence[tuple[SequenceId, Run]], took_s: float) -> None:
        """Learn from a batch, and charge for it; nobody pays for what was interrupted."""
        if not runs:
            return
        self._batch_s = took_s
        decode = sum(self._live[key].sampled is not None for key, _ in runs)
        tokens = sum(len(run.tokens) for _, run in runs)
        if not self._interrupted:
            self._pacer.took(decode, tokens - decode, took_s, prompts=len(runs) - decode)
        self._meter.batch(prefill_tokens=tokens - decode, decode_tokens=decode, took_s=took_s)
        self._live.took(runs, took_s)

    def _taken_back(self, key: SequenceId, run: Run) -> bool:
        """Undo what a failed batch may have left in memory; end the sequence if that is impossible."""
        try:
            self._model.truncate(run.slot, run.position)
        except DecodeFailed as error:
            self._live.fail(key, str(error))
            return False
        return True

    def _take_in(self, key: SequenceId, run: Run, index: int) -> None:
        sequence = self._live[key]
        if sequence.sampled is None:
            sequence.generation.spend(tokens_in=len(run.tokens))
            self._meter.tokens_in += len(run.tokens)
            self._scheduler.evaluated(key, run.position + len(run.tokens))
        if run.wants_logits:
            self._sample(key, sequence, index)

    def _sample(self, key: SequenceId, sequence: LiveSequence, index: int) -> None:
        if sequence.sampler is None:
            return
        first = sequence.sampled is None
        try:
            sequence.sample(self._model, index)
        except DecodeFailed as error:
            self._live.fail(key, str(error))
            return
        self._meter.tokens_out += 1
        if first:
            self._meter.first_tokens += 1
            self._meter.first_token_s += sequence.generation.age_s
