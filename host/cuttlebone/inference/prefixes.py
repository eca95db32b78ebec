"""A radix tree of the prompts that a model's memory holds or will hold: pure data, no model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cuttlebone.inference.model import Slot, Token


@dataclass(slots=True)
class _Node:
    """A run of tokens that every slot in `slots` has at this place of its prompt."""

    run: tuple[Token, ...]
    parent: "_Node | None"
    slots: set[Slot] = field(default_factory=set)
    children: "dict[Token, _Node]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """A slot whose prompt begins with the same `tokens` tokens."""

    slot: Slot
    tokens: int


class PrefixTree:
    """Which slots share which beginnings, tenant by tenant. Owned by one `KvCells`.

    Invariants: each node's slots are a superset of its children's; no node is without slots; no
    two children of a node begin with the same token; `tokens` is the sum of all runs, which is
    the number of cells that the prompts occupy when every common beginning is held once.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self._roots: dict[str, _Node] = {}
        self._leaves: dict[Slot, _Node] = {}

    def __contains__(self, slot: Slot) -> bool:
        return slot in self._leaves

    def insert(self, tenant: str, prompt: Sequence[Token], slot: Slot) -> None:
        """Add the prompt of a slot that is not in the tree."""
        prompt = tuple(prompt)
        node = self._roots.setdefault(tenant, _Node((), None))
        node.slots.add(slot)
        at = 0
        while at < len(prompt):
            child = node.children.get(prompt[at])
            if child is None:
                child = _Node(prompt[at:], node)
                node.children[prompt[at]] = child
                self.tokens += len(child.run)
            common = _common(child.run, prompt, at)
            if common < len(child.run):
                child = _split(node, child, common)
            child.slots.add(slot)
            node, at = child, at + common
        self._leaves[slot] = node

    def remove(self, slot: Slot) -> None:
        """Take a slot out, and with it every run that no other slot has."""
        node: _Node | None = self._leaves.pop(slot)
        while node is not None:
            node.slots.discard(slot)
            if not node.slots and node.parent is not None:
                del node.parent.children[node.run[0]]
                self.tokens -= len(node.run)
            node = node.parent
        self._roots = {tenant: root for tenant, root in self._roots.items() if root.slots}

    def matches(self, tenant: str, prompt: Sequence[Token]) -> dict[Slot, int]:
        """How many first tokens each slot of the tenant has in common with `prompt`; none is left out."""
        prompt = tuple(prompt)
        common: dict[Slot, int] = {}
        node, at = self._roots.get(tenant), 0
        while node is not None:
            common.update(dict.fromkeys(node.slots, at))
            child = node.children.get(prompt[at]) if at < len(prompt) else None
            if child is None:
                break
            step = _common(child.run, prompt, at)
            at += step
            if step < len(child.run):
                common.update(dict.fromkeys(child.slots, at))
                break
            node = child
        return common

    def covered(self, slot: Slot) -> set[Slot]:
        """The other slots whose prompts begin with the whole prompt of `slot`."""
        return self._leaves[slot].slots - {slot}

    def tokens_of(self, slots: set[Slot]) -> int:
        """The cells that the prompts of these slots occupy together."""
        pending, total = list(self._roots.values()), 0
        while pending:
            node = pending.pop()
            if node.slots & slots:
                total += len(node.run)
                pending.extend(node.children.values())
        return total

    def runs(self) -> Iterator[tuple[tuple[Token, ...], frozenset[Slot]]]:
        """Every node's run and slots, for tests and figures."""
        pending = list(self._roots.values())
        while pending:
            node = pending.pop()
            yield node.run, frozenset(node.slots)
            pending.extend(node.children.values())


def _split(parent: _Node, node: _Node, length: int) -> _Node:
    """Put a node with the first `length` tokens between `parent` and `node`, which keeps the rest."""
    upper = _Node(node.run[:length], parent, set(node.slots))
    parent.children[upper.run[0]] = upper
    node.run, node.parent = node.run[length:], upper
    upper.children[node.run[0]] = node
    return upper


def _common(run: tuple[Token, ...], prompt: tuple[Token, ...], at: int) -> int:
    """How many tokens of `run` equal those of `prompt` from `at` on, by halving: comparing slices is C."""
    low, high = 0, min(len(run), len(prompt) - at)
    if run[:high] == prompt[at : at + high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if run[low:middle] == prompt[at + low : at + middle]:
            low = middle
        else:
            high = middle - 1
    return low
