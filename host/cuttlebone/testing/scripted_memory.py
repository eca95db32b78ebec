"""What a scripted model has in memory, and the words that it knows."""

from itertools import count
from typing import Final

from cuttlebone.inference.model import Run, Slot, Token

SPECIAL: Final = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
"""The special tokens, from `END` on."""
END: Final = Token(256)
_FIRST_WORD: Final = 512


class ScriptedMemory:
    """Slots full of tokens, cell by cell. Owner: the inference thread.

    A token is a byte of a prompt, a special token or a word of an answer. A cell remembers which
    slots share it, and what does not fit together is an error.
    """

    def __init__(self) -> None:
        self._words: list[bytes] = []
        self._slots: dict[Slot, list[tuple[Token, int]]] = {}
        self._cells_used = count()

    @property
    def cells(self) -> int:
        """Cells in use, shared ones once."""
        return len({cell for held in self._slots.values() for _, cell in held})

    def remember(self, run: Run) -> None:
        """Take the tokens of a run, which has to go on where its slot ends."""
        held = self._slots.setdefault(run.slot, [])
        if run.position != len(held) or not run.tokens:
            raise AssertionError(
                f"slot {run.slot} holds {len(held)} tokens, but {len(run.tokens)} tokens "
                f"came for position {run.position}"
            )
        held.extend((token, next(self._cells_used)) for token in run.tokens)

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Share the first cells of `source` with an empty slot."""
        if self._slots.get(target):
            raise AssertionError(f"slot {target} is not empty")
        if tokens > len(self._slots.get(source, [])):
            raise AssertionError(f"slot {source} does not hold {tokens} tokens")
        self._slots[target] = self._slots[source][:tokens]

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget the end of a slot."""
        self._slots[slot] = self._slots.get(slot, [])[:tokens]

    def last(self, slot: Slot, tokens: int) -> list[Token]:
        """The last tokens of a slot."""
        held = self._slots[slot]
        return [token for token, _ in held[len(held) - tokens :]]

    def said(self, slot: Slot) -> str:
        """The text in a slot, with special tokens left out."""
        pieces = (self.piece(token) for token, _ in self._slots.get(slot, []))
        return b"".join(pieces).decode(errors="replace")

    def piece(self, token: Token) -> bytes:
        """The byte or word; nothing for special tokens."""
        if token < END:
            return bytes([token])
        return self._words[token - _FIRST_WORD] if token >= _FIRST_WORD else b""

    def word(self, text: bytes) -> Token:
        """The token of a word of an answer."""
        if text not in self._words:
            self._words.append(text)
        return Token(_FIRST_WORD + self._words.index(text))
