"""One generation of a scripted endpoint, and how its tokens are counted."""

import re
from collections import deque
from dataclasses import dataclass
from typing import Self

from cuttlebone.generation.outcome import Finished, Outcome, Piece
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.answer_text import AnswerText
from cuttlebone_abi import Finish


@dataclass(slots=True)
class ScriptedGeneration:
    """One generation that has no outcome yet. Owner: the endpoint, with its lock."""

    generation: Generation
    words: deque[str]
    answer: AnswerText
    outcome: Outcome | None
    """What it comes to, if that is scripted as a whole."""
    judged: int = 0
    running: bool = False

    @classmethod
    def of(cls, generation: Generation, script: str | Outcome, tokens_max: int) -> Self:
        """Begin one that is to say `script`, or to come to it."""
        answer = AnswerText(tokens_max, generation.request.stop)
        if isinstance(script, str):
            return cls(generation, deque(re.findall(r"\s*\S+|\s+$", script)), answer, None)
        return cls(generation, deque(), answer, script)

    @property
    def unjudged(self) -> int:
        """Pieces that wait for a verdict."""
        return self.answer.pieces - self.judged if self.generation.request.asks_verdict else 0

    def say(self) -> None:
        """Say the next word, or the end; a piece of it may be held back."""
        self.generation.spend(tokens_out=1)
        words = self.words
        piece = self.answer.add(words.popleft().encode()) if words else self.answer.end()
        if piece:
            self.generation.deliver(Piece(piece))

    def finished(self, finish: Finish) -> Finished:
        """What it comes to with all that was said."""
        return Finished(
            self.answer.text,
            finish,
            tokens_in=self.generation.tokens_in,
            tokens_out=self.generation.tokens_out,
            tokens_cached=0,
            seed=self.generation.request.sampling.seed,
        )


@dataclass(frozen=True, slots=True)
class ByteCounter:
    """Counts a token for each byte of a text and one for each message."""

    context_tokens: int

    def count(self, request: GenerationRequest) -> int:
        """How many tokens the prompt has."""
        turns = request.turns or ()
        return self.count_text(prompt_of(request)) + len(turns)

    def count_text(self, text: str) -> int:
        """How many bytes there are."""
        return len(text.encode())


def prompt_of(request: GenerationRequest) -> str:
    """All text of a request."""
    return request.raw_prompt or "".join(turn.content for turn in request.turns or ())
