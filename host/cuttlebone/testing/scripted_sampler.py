"""How a scripted model says its answers, and how it holds them to their constraints."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from cuttlebone.inference.constraints import Fault
from cuttlebone.inference.model import Slot, Token
from cuttlebone.testing.scripted_memory import END, ScriptedMemory


class ScriptedSampler:
    """Says the answer of the script word by word, then the end; a word is a run of non-spaces.

    Owner: the inference thread. `slot_of` tells in which slot a run of the last batch is.
    """

    def __init__(
        self,
        memory: ScriptedMemory,
        slot_of: Callable[[int], Slot],
        script: Callable[[str], str],
        opening: str,
    ) -> None:
        """`script` is what is said to a text, after the `opening`."""
        self._memory = memory
        self._slot_of = slot_of
        self._script = script
        self._opening = opening
        self._answer: list[Token] | None = None
        self._said = 0

    def pick(self, index: int) -> Token:
        """Say the next word, if what was said so far is in memory."""
        slot = self._slot_of(index)
        if self._answer is None:
            answer = self._opening + self._script(self._memory.said(slot))
            words = re.findall(r"\s*\S+|\s+$", answer)
            self._answer = [self._memory.word(word.encode()) for word in words]
        if self._memory.last(slot, self._said) != self._answer[: self._said]:
            raise AssertionError("the memory does not end with what was said")
        if self._said == len(self._answer):
            return END
        self._said += 1
        return self._answer[self._said - 1]

    def close(self) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True)
class ScriptedConstraint:
    """A constraint that is checked at the end only, so that scripts can break it."""

    faults: Fault

    def fault(self, text: str) -> str | None:
        """What is wrong with a finished text."""
        return self.faults(text)
