"""The radix tree finds what a comparison of all prompts would find, and counts cells once."""

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cuttlebone.inference.model import Slot, Token
from cuttlebone.inference.prefixes import PrefixTree

PROMPTS = st.lists(st.integers(0, 2).map(Token), max_size=8).map(tuple)
TENANTS = st.sampled_from(["a", "b"])


def common(one: tuple[Token, ...], other: tuple[Token, ...]) -> int:
    """How many first tokens are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class TreeBesideList(RuleBasedStateMachine):
    """The tree and a plain dictionary of prompts, fed the same."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = PrefixTree()
        self.prompts: dict[Slot, tuple[str, tuple[Token, ...]]] = {}
        self.numbers = iter(range(1000))

    @rule(tenant=TENANTS, prompt=PROMPTS)
    def insert(self, tenant: str, prompt: tuple[Token, ...]) -> None:
        slot = Slot(next(self.numbers))
        self.tree.insert(tenant, prompt, slot)
        self.prompts[slot] = (tenant, prompt)

    @precondition(lambda self: self.prompts)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(sorted(self.prompts)))
        self.tree.remove(slot)
        del self.prompts[slot]

    @rule(tenant=TENANTS, prompt=PROMPTS)
    def match(self, tenant: str, prompt: tuple[Token, ...]) -> None:
        expected = {
            slot: common(prompt, other)
            for slot, (whose, other) in self.prompts.items()
            if whose == tenant
        }
        assert self.tree.matches(tenant, prompt) == expected

    @invariant()
    def every_prefix_is_counted_once(self) -> None:
        prefixes = {
            (tenant, prompt[:end])
            for tenant, prompt in self.prompts.values()
            for end in range(1, len(prompt) + 1)
        }
        assert self.tree.tokens == len(prefixes)
        assert self.tree.tokens_of(set(self.prompts)) == len(prefixes)

    @invariant()
    def covered_slots_begin_with_the_whole_prompt(self) -> None:
        for slot, (tenant, prompt) in self.prompts.items():
            assert self.tree.covered(slot) == {
                other
                for other, (whose, longer) in self.prompts.items()
                if other != slot and whose == tenant and longer[: len(prompt)] == prompt
            }


TestTreeBesideList = TreeBesideList.TestCase


@given(PROMPTS)
def test_a_removed_prompt_leaves_nothing(prompt: tuple[Token, ...]) -> None:
    tree = PrefixTree()
    tree.insert("a", prompt, Slot(0))
    tree.remove(Slot(0))
    assert (tree.tokens, list(tree.runs())) == (0, [])
