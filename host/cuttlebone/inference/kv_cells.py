"""Who holds which slot and how many cells of a model's memory: pure bookkeeping, no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cuttlebone.inference.model import Slot, Token
from cuttlebone.inference.prefixes import Match, PrefixTree

NO_MATCH: Final = Match(Slot(-1), 0)


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
    prompt and goes when room is needed, the least recently used first. Common beginnings are
    counted once, which is true of the memory because a sequence waits for the earlier one that
    evaluates its beginning (`source`) and copies it.

    `_tenancies` is in order of admission for running sequences, of last use for kept ones.
    """

    def __init__(self, *, cells: int, slots: int, kept_cells_max: int, shares: bool = True) -> None:
        self._total = cells
        self._kept_cells_max = kept_cells_max if shares else 0
        self._shares = shares
        self._free_slots = [Slot(number) for number in reversed(range(slots))]
        self._tenancies: dict[Slot, Tenancy] = {}
        self._tree = PrefixTree()

    @property
    def free_cells(self) -> int:
        """Cells that are neither in use nor set aside, nor hold a kept prompt."""
        return self._total - self._tree.tokens - self._reserved()

    @property
    def open_slots(self) -> int:
        """Slots that a sequence could have: the free ones, and those with a kept prompt."""
        return len(self._free_slots) + len(self.kept)

    @property
    def kept(self) -> list[Slot]:
        """Slots that hold nothing but a kept prompt, the least recently used first."""
        return [slot for slot, tenancy in self._tenancies.items() if not tenancy.running]

    def admit(self, tenant: str, prompt: Sequence[Token], tokens_max: int) -> Admission | None:
        """Give a sequence a slot and its cells, or None while there is no room."""
        prompt = tuple(prompt)
        running = {slot for slot, tenancy in self._tenancies.items() if tenancy.running}
        in_use = self._tree.tokens_of(running) + self._reserved()
        unshared = len(prompt) - self._longest(tenant, prompt, running)
        if in_use + unshared + tokens_max > self._total or not (self._free_slots or self.kept):
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
            # The last token is always evaluated: its logits are wanted.
            usable = min(common, len(tenancy.prompt) - 1)
            evaluated = min(usable, self._tenancies[other].evaluated)
            promised = max(promised, usable)
            if evaluated > ready.tokens:
                ready = Match(other, evaluated)
        return ready if ready.tokens == promised else None

    def waits_for(self, slot: Slot) -> set[Slot]:
        """The running slots that evaluate what this one is waiting for."""
        return {
            other
            for other, common in self._earlier(slot)
            if common > 0 and self._tenancies[other].running
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
        if covered or not tenancy.evaluated or not self._shares:
            self._free_slots.append(slot)
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
        while kept and self._tree.tokens_of(set(kept)) > self._kept_cells_max:
            self._drop(kept[0])
            dropped.append(kept.pop(0))
        return dropped

    def _occupy(self, tenant: str, prompt: tuple[Token, ...], tokens_max: int) -> Tenancy:
        slot = self._free_slots.pop()
        tenancy = Tenancy(slot, tenant, prompt, reserve=tokens_max)
        self._tenancies[slot] = tenancy
        # Without sharing each slot is a tenant of its own, and matches nothing.
        self._tree.insert(tenant if self._shares else str(slot), prompt, slot)
        return tenancy

    def _drop(self, slot: Slot) -> None:
        del self._tenancies[slot]
        self._tree.remove(slot)
        self._free_slots.append(slot)

    def _fits(self, tenant: str, prompt: tuple[Token, ...], tokens_max: int) -> bool:
        unshared = len(prompt) - self._longest(tenant, prompt, set(self._tenancies))
        return unshared + tokens_max <= self.free_cells

    def _victim(self, tenant: str, prompt: tuple[Token, ...]) -> Slot:
        """The kept slot to go next: the oldest, but what the newcomer can use goes last."""
        kept = self.kept
        common = self._matches(tenant, prompt)
        best = max(kept, key=lambda slot: common.get(slot, 0))
        return next((slot for slot in kept if slot != best), best)

    def _longest(self, tenant: str, prompt: tuple[Token, ...], among: set[Slot]) -> int:
        common = self._matches(tenant, prompt)
        return max((tokens for slot, tokens in common.items() if slot in among), default=0)

    def _matches(self, tenant: str, prompt: tuple[Token, ...]) -> dict[Slot, int]:
        return self._tree.matches(tenant, prompt) if self._shares else {}

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

    def _reserved(self) -> int:
        return sum(tenancy.reserve for tenancy in self._tenancies.values())
