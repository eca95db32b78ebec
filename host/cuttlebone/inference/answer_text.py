"""The text of one generation: bytes of tokens in, pieces of whole characters out, and where it ends."""

import codecs
from collections.abc import Sequence

from cuttlebone_abi import Finish


class AnswerText:
    """What a generation has said. Owned by the inference thread; fed one token at a time.

    Bytes are held until they make whole characters, characters until they can no longer be the
    beginning of a stop string: `text` is the same wherever the bytes are cut into tokens. A byte
    that is no UTF-8 becomes U+FFFD; an unfinished character at the very end is left out.
    Nothing is added once `finish` is set.
    """

    def __init__(self, tokens_max: int, stop: Sequence[str] = ()) -> None:
        self.finish: Finish | None = None
        self.tokens_out = 0
        self._tokens_max = tokens_max
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """All pieces so far; the whole answer once `finish` is set."""
        return "".join(self._pieces)

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return len(self._pieces)

    def add(self, data: bytes) -> str:
        """Take the bytes of one token; answer the piece that they settle, which may be empty."""
        self.tokens_out += 1
        held = self._held + self._decoder.decode(data)
        match = first_match(held, self._stop)
        if match is not None:
            return self._settle(held, match, Finish.STOP)
        if self.tokens_out >= self._tokens_max:
            return self._settle(held, len(held), Finish.LENGTH)
        return self._settle(held, len(held) - beginning_of_any(held, self._stop), None)

    def end(self) -> str:
        """Take the token that ends the text; answer the last piece, which may be empty."""
        self.tokens_out += 1
        return self._settle(self._held, len(self._held), Finish.EOS)

    def cut_after(self, pieces: int) -> None:
        """End with piece number `pieces`, counted from 1, as the guest wished."""
        del self._pieces[pieces:]
        self.finish = Finish.GUEST

    def _settle(self, held: str, chars: int, finish: Finish | None) -> str:
        piece, self._held = held[:chars], held[chars:]
        if piece:
            self._pieces.append(piece)
        self.finish = finish
        return piece


def first_match(text: str, stop: Sequence[str]) -> int | None:
    """Where the stop string begins that is complete first; of several, the longest.

    By the end of the match and not by its beginning, because that is what a reader of single
    characters finds: the answer must not depend on how much text arrives at once.
    """
    starts = ((text.find(string), len(string)) for string in stop)
    found = [(start + length, start) for start, length in starts if start >= 0]
    return min(found)[1] if found else None


def beginning_of_any(text: str, stop: Sequence[str]) -> int:
    """How many characters at the end of `text` may be the beginning of a stop string."""
    longest = 0
    for string in stop:
        for length in range(min(len(string) - 1, len(text)), longest, -1):
            if text.endswith(string[:length]):
                longest = length
                break
    return longest
