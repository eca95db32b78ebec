"""Constrained output by llguidance: only tokens that keep to a schema or grammar can be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import llguidance
import numpy as np
import numpy.typing as npt

from cuttlebone.generation.request import CompileTerms
from cuttlebone.inference.constraint_reader import ReadConstraint, until_unwanted
from cuttlebone.inference.constraint_reading import matcher_of, reason_of
from cuttlebone.inference.constraints import Fault
from cuttlebone.inference.model import DecodeFailed, Token

Allowed: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The tokens of a model as llguidance wants them, and how it has text tokenised.

    Not llguidance's own reader of llama.cpp vocabularies: it keeps a pointer into the model, which
    may be closed while a constraint of it is still around, and calls what llama.cpp deprecates.
    """

    tokens: list[bytes]
    """By token id, in their spelling; none for those that never stand in text."""
    special_token_ids: Sequence[int]
    eos_token_id: int
    bos_token_id: int | None
    tokenise: Callable[[bytes], Sequence[int]]

    def __call__(self, text: bytes) -> Sequence[int]:
        """Tokenise text; called by llguidance."""
        return self.tokenise(text)

    def tokenizer(self) -> llguidance.LLTokenizer:
        """Build llguidance's index of all tokens, which takes a while."""
        return llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(self), eos_token=self.eos_token_id
        )


@dataclass(frozen=True, slots=True)
class LlamaConstraint:
    """A constraint compiled for the vocabulary of one model."""

    matcher: llguidance.LLMatcher
    """At its beginning; each generation works on a copy."""
    faults: Fault

    def fault(self, text: str) -> str | None:
        """What is wrong with a finished text."""
        return self.faults(text)


def compile_constraint(
    tokenizer: llguidance.LLTokenizer, read: ReadConstraint, terms: CompileTerms
) -> LlamaConstraint:
    """Compile what has been read for the tokens of a model; raise CommandError and JobError."""

    def compiled() -> llguidance.LLMatcher:
        return matcher_of(tokenizer, read.grammar)

    matcher = compiled() if read.quick else until_unwanted(compiled, terms)
    return LlamaConstraint(matcher, read.fault or _GrammarFault(tokenizer, matcher))


class Mask:
    """Which tokens may come next in one sequence. Owner: the sequence's sampler."""

    def __init__(self, constraint: LlamaConstraint, vocabulary_tokens: int) -> None:
        self._matcher = constraint.matcher.deep_copy()
        self._size = vocabulary_tokens

    def allowed(self) -> Allowed:
        """A flag for each token of the vocabulary; raises DecodeFailed if the matcher gave up."""
        mask = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise DecodeFailed(f"the constraint cannot be kept on: {reason_of(self._matcher)}")
        bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=self._size, bitorder="little")
        return bits.view(np.bool_)

    def take(self, token: Token) -> None:
        """Note the token that was chosen; raises DecodeFailed if it was not allowed."""
        if not self._matcher.is_stopped() and not self._matcher.consume_token(token):
            raise DecodeFailed(f"the constraint was broken: {reason_of(self._matcher)}")


@dataclass(frozen=True, slots=True)
class _GrammarFault:
    """Reads a finished text from its beginning, byte by byte rather than by the tokens chosen."""

    tokenizer: llguidance.LLTokenizer
    matcher: llguidance.LLMatcher

    def __call__(self, text: str) -> str | None:
        reader = self.matcher.deep_copy()
        tokens = self.tokenizer.greedy_tokenize(text)
        if reader.try_consume_tokens(tokens) < len(tokens) or not reader.is_accepting():
            return "it is not a sentence of the grammar"
        return None
