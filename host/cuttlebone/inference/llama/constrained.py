"""Constrained output by llguidance: only tokens that keep to a schema or grammar can be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import llguidance
import numpy as np
import numpy.typing as npt
from llguidance.gbnf_to_lark import any_to_lark

from cuttlebone.generation.request import Constraint, Grammar, JsonSchema
from cuttlebone.inference.constraints import (
    Fault,
    check_grammar,
    check_schema,
    invalid_grammar,
    json_fault,
)
from cuttlebone.inference.model import DecodeFailed, Token
from cuttlebone.text import printable

REASON_CHARS_MAX: Final = 200

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
    tokenizer: llguidance.LLTokenizer, constraint: Constraint
) -> LlamaConstraint:
    """Compile; raise CommandError (invalid_grammar)."""
    match constraint:
        case JsonSchema():
            grammar = _schema_grammar(constraint)
            matcher = _matcher(tokenizer, grammar, "json_schema")
            return LlamaConstraint(matcher, json_fault(constraint))
        case Grammar():
            matcher = _matcher(tokenizer, _lark_grammar(constraint), "grammar")
            return LlamaConstraint(matcher, _GrammarFault(tokenizer, matcher))


class Mask:
    """Which tokens may come next in one sequence. Owner: the sequence's sampler."""

    def __init__(self, constraint: LlamaConstraint, vocabulary_tokens: int) -> None:
        self._matcher = constraint.matcher.deep_copy()
        self._size = vocabulary_tokens

    def allowed(self) -> Allowed:
        """A flag for each token of the vocabulary; raises DecodeFailed if the matcher gave up."""
        mask = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise DecodeFailed(f"the constraint cannot be kept on: {_reason(self._matcher)}")
        bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=self._size, bitorder="little")
        return bits.view(np.bool_)

    def take(self, token: Token) -> None:
        """Note the token that was chosen; raises DecodeFailed if it was not allowed."""
        if not self._matcher.is_stopped() and not self._matcher.consume_token(token):
            raise DecodeFailed(f"the constraint was broken: {_reason(self._matcher)}")


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


def _schema_grammar(constraint: JsonSchema) -> str:
    data = check_schema(constraint)
    try:
        return llguidance.LLMatcher.grammar_from_json_schema(
            data.decode(),
            # One way to write each value: free whitespace is where small models get lost. Nor may
            # a schema (`x-guidance`) have keywords ignored that cannot be kept.
            overrides={
                "whitespace_flexible": False,
                "item_separator": ", ",
                "key_separator": ": ",
                "lenient": False,
                "coerce_one_of": True,
            },
        )
    except ValueError as error:
        raise invalid_grammar(f"`json_schema`: {printable(str(error))}") from None


def _lark_grammar(constraint: Grammar) -> str:
    check_grammar(constraint)
    try:
        lark = any_to_lark(constraint.text)
    except Exception as error:  # noqa: BLE001  # the converter raises bare ones, and RecursionError
        raise invalid_grammar(
            f"`grammar` is neither Lark nor GBNF: {printable(str(error))}"
        ) from None
    return llguidance.LLMatcher.grammar_from_lark(lark)


def _matcher(tokenizer: llguidance.LLTokenizer, grammar: str, field: str) -> llguidance.LLMatcher:
    matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if not matcher.is_error():
        probe = matcher.deep_copy()
        probe.compute_bitmask()  # some grammars fail only at their first token
        if not probe.is_error():
            return matcher
        matcher = probe
    raise invalid_grammar(f"`{field}` cannot be compiled: {_reason(matcher)}")


def _reason(matcher: llguidance.LLMatcher) -> str:
    """The first lines of what the matcher says; the rest is a dump of its state."""
    return printable(matcher.get_error().split("<state>")[0].strip(), chars_max=REASON_CHARS_MAX)
