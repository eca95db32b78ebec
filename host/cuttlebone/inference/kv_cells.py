"""Who holds which slot and how many cells of a model's memory: pure bookkeeping, no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cuttlebone.inference.model import ModelInfo, Slot, Token
from cuttlebone.inference.prefixes import Match, PrefixTree

NO_MATCH: Final = Match(Slot(-1), 0)
STREAM_COPY_TOKENS_MIN: Final = 16
"""A KV stream is copied whole, however little of it is wanted; fewer tokens are evaluated sooner."""


@dataclass(frozen=True, slots=True)
class KvRules:
    """What the memory of a model has room for, and what may be copied in it."""

    cells: int
    slots: int
    generations_max: int
    kept_cells_max: int
    """Of cells with prompts that nobody uses."""
    shares: bool = True
    """Whether a sequence may begin with a copy of another one."""
    stream_cells: int | None = None
    """What each slot has to itself; None where all share one pool."""
    chunk_tokens_min: int = 1
    """Of a prompt so many of the last tokens are evaluated in any case."""
    copy_tokens_min: int = 1
    """Fewer are not worth a copy."""

    @classmethod
    def of(cls, info: ModelInfo, *, slots_max: int, kept_share: float, shares: bool) -> "KvRules":
        """The rules for a model; `kept_share` is the part of a pool that may hold kept prompts."""
        shape = info.kv_shape
        return cls(
            cells=info.cells,
            slots=min(shape.slots, slots_max),
            generations_max=shape.generations_max,
            kept_cells_max=int(info.cells * (kept_share if shape.is_pool else 1)),
            shares=shares and info.shares_prefixes,
            stream_cells=None if shape.is_pool else info.cells // shape.slots,
            chunk_tokens_min=info.chunk_tokens_min,
            copy_tokens_min=1 if shape.is_pool else STREAM_COPY_TOKENS_MIN,
        )


@dataclass(slots=True)
class Tenancy:
    """One slot in use: running, or kept for the prompt that it holds. Its scheduler sets `evaluated`."""

    slot: Slot
    tenant: str
    prompt: tuple[Token, ...]
    reserve: int
    """Cells set aside for tokens that are still to be generated; 0 when kept."""
    evaluated: int = 0
    """Prompt tokens in memory."""
    running: bool = True


@dataclass(frozen=True, slots=True)
class Admission:
    """The place of a new sequence; the evicted slots have to be emptied before it is used."""

    tenancy: Tenancy
    evicted: tuple[Slot, ...]


class KvCells:
    """The memory of one model as a budget. Owned by the scheduler.

    Every slot is free, running or kept. A running sequence has cells for its whole prompt and
    for all that it may generate, so it never has to be evicted half-way; a kept one has its
    prompt and goes when room is needed, the least recently used first.

    In streams a slot is all the room that a sequence needs, and the tree of prompts says what can
    be copied. In a pool cells are counted, common beginnings once, which is true of the memory because
    a sequence waits for the earlier one that evaluates its beginning (`source`) and copies it.

    `_tenancies` is in order of admission for running sequences, of last use for kept ones.
    """

    def __init__(self, rules: KvRules) -> None:
        self._rules = rules
        self._free_slots = {Slot(number) for number in range(rules.slots)}
        self._tenancies: dict[Slot, Tenancy] = {}
        self._tree = PrefixTree()

    @property
    def free_cells(self) -> int:
        """Cells that are neither in use nor set aside, nor hold a kept prompt."""
        rules = self._rules
        if rules.stream_cells is not None:
            return len(self._free_slots) * rules.stream_cells
        return rules.cells - self._tree.tokens - self._reserved()

    @property
    def open_slots(self) -> int:
        """Slots that a sequence could have, free ones and those with a kept prompt, if more may run."""
        kept = len(self.kept)
        running = len(self._tenancies) - kept
        return min(len(self._free_slots) + kept, self._rules.generations_max - running)

    @property
    def kept(self) -> list[Slot]:
        """Slots that hold nothing but a kept prompt, the least recently used first."""
        return [slot for slot, tenancy in self._tenancies.items() if not tenancy.running]

    def admit(self, tenant: str, prompt: Sequence[Token], tokens_max: int) -> Admission | None:
        """Give a sequence a slot and its cells, or None while there is no room."""
        prompt = tuple(prompt)
        if not self._could_fit(tenant, prompt, tokens_max):
            return None  # not even evicting everything would help
        evicted: list[Slot] = []
        while not (self._free_slots and self._fits(tenant, prompt, tokens_max)):
            victim = self._victim(tenant, prompt)
            self._drop(victim)
            evicted.append(victim)
        return Admission(self._occupy(tenant, prompt, tokens_max), tuple(evicted))

    def source(self, slot: Slot) -> Match | None:
        """Where a sequence that has evaluated nothing can copy its beginning from, if anywhere.

        None says: wait, an earlier sequence is still evaluating what both begin with.
        """
        tenancy = self._tenancies[slot]
        promised, ready = 0, NO_MATCH
        for other, common in self._earlier(slot):
            usable = self._usable(common, tenancy.prompt)
            evaluated = self._usable(min(common, self._tenancies[other].evaluated), tenancy.prompt)
            promised = max(promised, usable)
            if evaluated > ready.tokens:
                ready = Match(other, evaluated)
        return ready if ready.tokens == promised else None

    def waits_for(self, slot: Slot) -> set[Slot]:
        """The running slots that evaluate what this one is waiting for."""
        prompt = self._tenancies[slot].prompt
        return {
            other
            for other, common in self._earlier(slot)
            if self._usable(common, prompt) and self._tenancies[other].running
        }

    def touch(self, slot: Slot) -> None:
        """Note that a kept slot was of use just now."""
        tenancy = self._tenancies[slot]
        if not tenancy.running:
            del self._tenancies[slot]
            self._tenancies[slot] = tenancy

    def release(self, slot: Slot) -> int:
        """End a running sequence; answer how many of its tokens are kept, 0 if the slot is free now."""
        tenancy = self._tenancies.pop(slot)
        covered = any(
            self._tenancies[other].evaluated >= tenancy.evaluated
            for other in self._tree.covered(slot)
        )
        self._tree.remove(slot)
        if covered or not tenancy.evaluated or not self._rules.shares:
            self._free_slots.add(slot)
            return 0
        prompt = tenancy.prompt[: tenancy.evaluated]
        self._tree.insert(tenancy.tenant, prompt, slot)
        self._tenancies[slot] = Tenancy(
            slot, tenancy.tenant, prompt, reserve=0, evaluated=len(prompt), running=False
        )
        return len(prompt)

    def trim(self) -> list[Slot]:
        """Drop kept prompts, the oldest first, until the rest fits its share; answer the dropped."""
        dropped = []
        kept = self.kept
        while kept and self._tree.tokens_of(set(kept)) > self._rules.kept_cells_max:
            self._drop(kept[0])
            dropped.append(kept.pop(0))
        return dropped

    def _occupy(self, tenant: str, prompt: tuple[Token, ...], tokens_max: int) -> Tenancy:
        slot = max(sorted(self._free_slots), key=self._running_beside)
        self._free_slots.remove(slot)
        tenancy = Tenancy(slot, tenant, prompt, reserve=tokens_max)
        self._tenancies[slot] = tenancy
        # Without sharing each slot is a tenant of its own, and matches nothing.
        self._tree.insert(tenant if self._rules.shares else str(slot), prompt, slot)
        return tenancy

    def _drop(self, slot: Slot) -> None:
        del self._tenancies[slot]
        self._tree.remove(slot)
        self._free_slots.add(slot)

    def _could_fit(self, tenant: str, prompt: tuple[Token, ...], tokens_max: int) -> bool:
        """Whether there would be room if no prompt were kept."""
        rules = self._rules
        if self.open_slots < 1:
            return False
        if rules.stream_cells is not None:
            return True
        running = {slot for slot, tenancy in self._tenancies.items() if tenancy.running}
        in_use = self._tree.tokens_of(running) + self._reserved()
        unshared = len(prompt) - self._longest(tenant, prompt, running)
        return in_use + unshared + tokens_max <= rules.cells

    def _fits(self, tenant: str, prompt: tuple[Token, ...], tokens_max: int) -> bool:
        if self._rules.stream_cells is not None:
            return True
        unshared = len(prompt) - self._longest(tenant, prompt, set(self._tenancies))
        return unshared + tokens_max <= self.free_cells

    def _victim(self, tenant: str, prompt: tuple[Token, ...]) -> Slot:
        """The kept slot to go next: an old one, but what the newcomer can use goes last.

        The oldest of a pool. Of streams the one that has most running beside it, the youngest quarter
        aside: llama.cpp reads the weights once for each row of streams that follow one another.
        """
        kept = self.kept
        common = self._matches(tenant, prompt)
        best = max(kept, key=lambda slot: common.get(slot, 0))
        others = [slot for slot in kept if slot != best] or [best]
        if self._rules.stream_cells is None:
            return others[0]
        return max(others[: -(-3 * len(others) // 4)], key=self._running_beside)

    def _running_beside(self, slot: Slot) -> int:
        beside = (self._tenancies.get(Slot(slot + step)) for step in (-1, 1))
        return sum(one is not None and one.running for one in beside)

    def _longest(self, tenant: str, prompt: tuple[Token, ...], among: set[Slot]) -> int:
        common = self._matches(tenant, prompt)
        return max((tokens for slot, tokens in common.items() if slot in among), default=0)

    def _matches(self, tenant: str, prompt: tuple[Token, ...]) -> dict[Slot, int]:
        return self._tree.matches(tenant, prompt) if self._rules.shares else {}

    def _earlier(self, slot: Slot) -> list[tuple[Slot, int]]:
        """What may be copied from: whatever is kept, and running sequences admitted before this.

        Not the later ones: two sequences would wait for each other for ever.
        """
        tenancy = self._tenancies[slot]
        common = self._matches(tenancy.tenant, tenancy.prompt)
        order = list(self._tenancies)
        before = set(order[: order.index(slot)])
        return [
            (other, tokens)
            for other, tokens in common.items()
            if other in before or (other != slot and not self._tenancies[other].running)
        ]

    def _usable(self, common: int, prompt: tuple[Token, ...]) -> int:
        """How many of the tokens that a prompt has in common with another one it would copy.

        The last ones are always evaluated: their logits are wanted.
        """
        tokens = min(common, len(prompt) - self._rules.chunk_tokens_min)
        return tokens if tokens >= self._rules.copy_tokens_min else 0

    def _reserved(self) -> int:
        return sum(tenancy.reserve for tenancy in self._tenancies.values())
