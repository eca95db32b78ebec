"""Which tokens go into the next batch: pure data, no model, no clock, no thread."""

from dataclasses import dataclass

from cuttlebone.inference.kv_cells import KvCells, Tenancy
from cuttlebone.inference.model import Slot
from cuttlebone.inference.turns import (
    AdmissionTurns,
    Demand,
    PromptTurns,
    SequenceId,
    prompt_weight,
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A generation that has its place now; the evicted slots have to be emptied first."""

    sequence: SequenceId
    slot: Slot
    evicted: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """The beginning of a prompt that is in memory already."""

    sequence: SequenceId
    source: Slot
    target: Slot
    tokens: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next tokens of a prompt, from `position` on."""

    sequence: SequenceId
    position: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One batch: first the copies, then one token for each of `decode`, and the chunks."""

    copies: tuple[Copy, ...]
    decode: tuple[SequenceId, ...]
    prefill: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """What is left of an ended sequence: truncate `slot` to `kept_tokens`, empty the dropped."""

    slot: Slot
    kept_tokens: int
    dropped: tuple[Slot, ...]


@dataclass(slots=True)
class _Running:
    demand: Demand
    place: Tenancy
    begun: bool = False
    ready: bool = True

    @property
    def slot(self) -> Slot:
        return self.place.slot

    @property
    def prefilled(self) -> bool:
        return self.place.evaluated == len(self.place.prompt)


class Scheduler:
    """All generations of one model, from submission to end. Owned by the inference thread.

    A sequence is waiting (no slot), in prefill (a slot, prompt not wholly evaluated) or in decode.
    Admission takes tenants in turn, then their jobs; the first that does not fit stops it, so that
    a large one gets its turn. The last place is for a tenant that asked before and has none now.
    Decode comes before prefill; no batch is empty while anything can go on. `running` is in
    order of admission.

    A batch has of a prompt at least `chunk_tokens_min` tokens and leaves at least so many over, or
    the whole rest; where fewer are allowed for, they are added to what the next batch may have.
    """

    def __init__(self, cells: KvCells, *, batch_tokens_max: int, chunk_tokens_min: int = 1) -> None:
        self._cells = cells
        self._batch_tokens_max = batch_tokens_max
        self._chunk_tokens_min = chunk_tokens_min
        self._owed_tokens = 0
        self._turns = AdmissionTurns()
        self._prompt_turns = PromptTurns()
        self._running: dict[SequenceId, _Running] = {}

    @property
    def waiting(self) -> int:
        """Generations without a slot."""
        return self._turns.waiting

    @property
    def running(self) -> int:
        """Generations with a slot."""
        return len(self._running)

    @property
    def prompt_weight(self) -> float:
        """How many of the generations in decode those in prefill weigh as much as."""
        running = self._running.values()
        return prompt_weight(
            [entry.demand for entry in running if not entry.prefilled],
            [entry.demand for entry in running if entry.prefilled],
        )

    @property
    def free_cells(self) -> int:
        """Cells that nothing occupies."""
        return self._cells.free_cells

    @property
    def kept_prompts(self) -> int:
        """Prompts in memory that no generation uses."""
        return len(self._cells.kept)

    @property
    def runnable(self) -> bool:
        """Whether a plan made now would have tokens in it; call after `admit`."""
        return any(entry.ready or not entry.prefilled for entry in self._running.values())

    def submit(self, sequence: SequenceId, demand: Demand) -> None:
        """Let a generation wait for its place."""
        self._turns.wait(sequence, demand)

    def admit(self) -> Admitted | None:
        """Give the next waiting generation its place, or None while there is none or no room."""
        first = self._turns.first()
        if first is None:
            return None
        sequence, demand = first
        if self._held_open_for_others(demand.tenant):
            return None
        admission = self._cells.admit(demand.tenant, demand.prompt, demand.tokens_max)
        if admission is None:
            return None
        self._turns.admitted(demand)
        self._running[sequence] = _Running(demand, admission.tenancy)
        return Admitted(sequence, admission.tenancy.slot, admission.evicted)

    def plan(self, prefill_tokens_max: int, *, prompt_costs_tokens: int = 0) -> Plan:
        """Make the next batch, with at most `prefill_tokens_max` prompt tokens in it.

        Each prompt in it after the first takes `prompt_costs_tokens` of them for its call.
        """
        self._prompt_turns.begin_batch()
        ready = [key for key, entry in self._running.items() if entry.prefilled and entry.ready]
        decode = ready[: self._batch_tokens_max - 1]
        copies = self._begin()
        budget = prefill_tokens_max + self._owed_tokens
        if not decode:
            budget = max(budget, 2 * self._chunk_tokens_min - 1)  # some chunk is of that size
        budget = min(budget, self._batch_tokens_max - len(decode))
        chunks = self._chunks(budget, prompt_costs_tokens)
        self._owed_tokens = 0 if chunks else min(budget, 2 * self._chunk_tokens_min - 2)
        return Plan(copies, tuple(decode), chunks)

    def evaluated(self, sequence: SequenceId, tokens: int) -> None:
        """Note that a prompt is in memory up to its token number `tokens`."""
        self._running[sequence].place.evaluated = tokens

    def hold(self, sequence: SequenceId) -> None:
        """Leave a sequence out of batches until it is `resumed`."""
        self._running[sequence].ready = False

    def resume(self, sequence: SequenceId) -> None:
        """Let a held sequence go on."""
        self._running[sequence].ready = True

    def remove(self, sequence: SequenceId, *, spoiled: bool = False) -> Released | None:
        """End a generation; None if it had no place. What a `spoiled` one holds is not kept."""
        entry = self._running.pop(sequence, None)
        if entry is None:
            self._turns.forget(sequence)
            return None
        self._turns.ended(entry.demand)
        if spoiled:
            entry.place.evaluated = 0
        kept = self._cells.release(entry.slot)
        self._prompt_turns.keep(other.demand for other in self._running.values())
        return Released(entry.slot, kept, tuple(self._cells.trim()))

    def _begin(self) -> tuple[Copy, ...]:
        """Let those sequences begin that need not wait for the prefill of an earlier one."""
        copies = []
        for key, entry in self._running.items():
            if entry.begun:
                continue
            source = self._cells.source(entry.slot)
            if source is None:
                continue
            entry.begun = True
            if source.tokens:
                copies.append(Copy(key, source.slot, entry.slot, source.tokens))
                self._cells.touch(source.slot)
                self.evaluated(key, source.tokens)
        return tuple(copies)

    def _chunks(self, budget: int, prompt_costs_tokens: int) -> tuple[Chunk, ...]:
        chunks = []
        urgent = self._urgent_slots()
        pending = [
            (self._prompt_turns.rank(entry.demand, urgent=entry.slot in urgent), at, key)
            for at, (key, entry) in enumerate(self._running.items())
            if entry.begun and not entry.prefilled
        ]
        for *_, key in sorted(pending):
            entry = self._running[key]
            tokens = self._chunk(len(entry.place.prompt) - entry.place.evaluated, budget)
            if not tokens:
                break
            budget -= tokens + prompt_costs_tokens
            self._prompt_turns.served(entry.demand)
            chunks.append(Chunk(key, entry.place.evaluated, tokens))
        return tuple(chunks)

    def _chunk(self, rest: int, budget: int) -> int:
        """How many of the tokens that are left of a prompt the next batch has; 0 is none."""
        if rest <= budget:
            return rest
        tokens = min(budget, rest - self._chunk_tokens_min)
        return tokens if tokens >= max(self._chunk_tokens_min, 1) else 0

    def _urgent_slots(self) -> set[Slot]:
        """The slots of interactive sequences, and those that such a one is waiting for."""
        urgent = {entry.slot for entry in self._running.values() if entry.demand.interactive}
        for entry in self._running.values():
            if entry.demand.interactive and not entry.begun:
                urgent |= self._cells.waits_for(entry.slot)
        return urgent

    def _held_open_for_others(self, tenant: str) -> bool:
        """Whether this tenant must leave the last place to a known one that has none and may come.

        Else such a one would wait for a whole generation in the largest possible company.
        """
        turns = self._turns
        last = self._cells.open_slots <= 1
        return last and turns.has_place(tenant) and not turns.all_have_places
