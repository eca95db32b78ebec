"""A machine of which only the times of its batches matter: the scheduler's work in virtual seconds."""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Protocol

from cuttlebone.inference.kv_cells import KvCells, KvRules
from cuttlebone.inference.model import Token
from cuttlebone.inference.scheduler import Plan, Scheduler
from cuttlebone.inference.turns import Demand, SequenceId

BATCH_TOKENS_MAX: Final = 512
SLOTS: Final = 64
CELLS: Final = 10_000_000
"""More than any trial needs: what is simulated is time."""
GAP_S: Final = 1.0
"""How long a generation may wait for its next token, or else `GAP_BATCHES`."""
GAP_BATCHES: Final = 3


class Pacer(Protocol):
    """What decides how many prompt tokens a batch has."""

    def took(self, decoding: int, prefill_tokens: int, seconds: float, *, prompts: int = 1) -> None:
        """Learn from one batch."""

    def prefill_tokens(self, decoding: int, prompt_weight: float) -> int:
        """Prompt tokens of the next batch."""

    @property
    def prompt_costs_tokens(self) -> int:
        """What each further prompt in a batch costs."""


@dataclass(frozen=True, slots=True)
class ConstantChunk:
    """The pacer that never learns."""

    tokens: int

    def took(self, decoding: int, prefill_tokens: int, seconds: float, *, prompts: int = 1) -> None:
        """Nothing to learn."""

    def prefill_tokens(self, decoding: int, prompt_weight: float) -> int:  # noqa: ARG002  # the Pacer's
        """The same for every batch."""
        return self.tokens

    @property
    def prompt_costs_tokens(self) -> int:
        """Not known."""
        return 0


@dataclass(frozen=True, slots=True)
class Machine:
    """What a batch costs on a quiet machine, in seconds, and what disturbs it."""

    fixed_s: float
    each_decode_s: float
    each_prompt_s: float
    prompts_apart: bool = False
    """Whether each prompt's chunk has a call, and so the fixed cost, of its own."""
    noise: float = 0.0
    """Standard deviation of the logarithm of a batch's time."""
    loads: tuple[tuple[float, float], ...] = ()
    """From which second on everything takes how many times longer, in order."""

    def load(self, now_s: float) -> float:
        """How many times longer everything takes at a moment."""
        return next((load for since_s, load in reversed(self.loads) if since_s <= now_s), 1.0)

    def calls(self, decoding: int, chunks: int) -> int:
        """Calls of the model that a batch is computed in."""
        return (decoding > 0) + chunks if self.prompts_apart else 1

    def batch_s(self, calls: int, decoding: int, prompt_tokens: int) -> float:
        """Seconds of a batch."""
        each_s = self.each_decode_s * decoding + self.each_prompt_s * prompt_tokens
        return self.fixed_s * calls + each_s


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """One generation."""

    begins_s: float
    prompt_tokens: int
    answer_tokens: int


@dataclass(slots=True)
class _Answer:
    prompt_tokens: int
    left: int
    asked_s: float | None = None
    """When its last token came; None before the first."""


class Simulation:
    """Jobs on a machine from the first token to the last. Owner: one test.

    Scheduler and bookkeeping of memory are the real ones. `answers` holds what was submitted and
    has not ended.
    """

    def __init__(self, machine: Machine, pacer: Pacer, *, seed: int = 0) -> None:
        self.now_s = 0.0
        self.worked_s = 0.0
        """What all batches would have taken on a quiet machine: no luck is in it."""
        self.gap_ratio_max = 0.0
        """The longest wait for a next token, as a part of what it may be; 1.0 is the bound."""
        self._machine = machine
        self._pacer = pacer
        self._chance = random.Random(seed)
        self._keys = map(SequenceId, count())
        rules = KvRules(CELLS, SLOTS, generations_max=SLOTS, kept_cells_max=0, shares=False)
        self._scheduler = Scheduler(
            KvCells(rules),
            batch_tokens_max=BATCH_TOKENS_MAX,
            chunk_tokens_min=2 if machine.prompts_apart else 1,
        )
        self._answers: dict[SequenceId, _Answer] = {}

    def run(self, jobs: Iterable[SimulatedJob]) -> float:
        """Answer for how many seconds the machine worked, were nothing in its way."""
        coming = deque(sorted(jobs, key=lambda job: job.begins_s))
        while coming or self._answers:
            if not self._answers:
                self.now_s = max(self.now_s, coming[0].begins_s)
            while coming and coming[0].begins_s <= self.now_s:
                self._submit(coming.popleft())
            while self._scheduler.admit() is not None:
                pass
            self._batch()
        return self.worked_s

    def _submit(self, job: SimulatedJob) -> None:
        key = next(self._keys)
        prompt = (Token(0),) * job.prompt_tokens
        demand = Demand(f"job-{key}", "tenant", False, prompt, job.answer_tokens)
        self._scheduler.submit(key, demand)
        self._answers[key] = _Answer(job.prompt_tokens, job.answer_tokens)

    def _batch(self) -> None:
        decoding = sum(answer.asked_s is not None for answer in self._answers.values())
        tokens_max = self._pacer.prefill_tokens(decoding, self._scheduler.prompt_weight)
        costs = self._pacer.prompt_costs_tokens
        plan = self._scheduler.plan(tokens_max, prompt_costs_tokens=costs)
        tokens = sum(chunk.tokens for chunk in plan.prefill)
        calls = self._machine.calls(len(plan.decode), len(plan.prefill))
        load = self._machine.load(self.now_s)
        disturbed = load * self._chance.lognormvariate(0.0, self._machine.noise)
        quiet_s = self._machine.batch_s(calls, len(plan.decode), tokens)
        took_s = disturbed * quiet_s
        self.worked_s += quiet_s
        self._pacer.took(len(plan.decode), tokens, took_s, prompts=len(plan.prefill))
        self.now_s += took_s
        least_s = self._machine.batch_s(
            self._machine.calls(len(plan.decode), 1), len(plan.decode), 0
        )
        self._deliver(plan, max(GAP_S, GAP_BATCHES * load * least_s))

    def _deliver(self, plan: Plan, gap_s_max: float) -> None:
        """Give each generation its token."""
        for chunk in plan.prefill:
            self._scheduler.evaluated(chunk.sequence, chunk.position + chunk.tokens)
        whole = [
            chunk.sequence
            for chunk in plan.prefill
            if chunk.position + chunk.tokens == self._answers[chunk.sequence].prompt_tokens
        ]
        self._answer([*plan.decode, *whole], gap_s_max)

    def _answer(self, keys: Sequence[SequenceId], gap_s_max: float) -> None:
        for key in keys:
            answer = self._answers[key]
            if answer.asked_s is not None:
                ratio = (self.now_s - answer.asked_s) / gap_s_max
                self.gap_ratio_max = max(self.gap_ratio_max, ratio)
            answer.asked_s = self.now_s
            answer.left -= 1
            if not answer.left:
                del self._answers[key]
                self._scheduler.remove(key)
