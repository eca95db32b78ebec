"""The model as the inference thread sees it: a protocol, with llama.cpp and a fake behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NewType, Protocol

from cuttlebone.generation.request import CompileTerms, Constraint, Sampling
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.kv_shape import KvShape

Token = NewType("Token", int)
"""An index into the vocabulary of the model."""
Slot = NewType("Slot", int)
"""A sequence id of the model's memory, below the slots of its `KvShape`."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a loaded model."""

    name: str
    path: Path | None
    sha256: str | None
    architecture: str
    context_tokens: int
    """Prompt and answer of one sequence together."""
    kv_shape: KvShape
    """How its memory is shared out between sequences."""
    cells: int
    """Tokens that its memory holds, of all sequences together; at least `context_tokens`."""
    exact: bool
    """Whether the numbers of a sequence are the same to the last bit alone and in any company."""
    trained_context_tokens: int
    vocabulary_tokens: int
    batch_tokens_max: int
    chunk_tokens_min: int
    """Tokens of a prompt that a decode has of it at least, unless the whole prompt is shorter.

    One that is alone there would be computed another way than in company, and have other numbers.
    """
    has_template: bool
    shares_prefixes: bool
    """Whether a sequence can begin with a copy of another one's memory."""
    interruptible: bool
    """Whether a decode can end half-way: what it has done of a sequence is taken back then."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive tokens of one sequence that are evaluated in one batch."""

    slot: Slot
    position: int
    """Of the first token; everything before it is in the memory of the slot already."""
    tokens: Sequence[Token]
    wants_logits: bool
    """Whether the last token's logits are needed, that is, whether a token is sampled after it."""


class DecodeFailed(Exception):
    """The model could not evaluate a batch. Nothing is known of the memory of its runs."""


class CompiledConstraint(Protocol):
    """A constraint compiled for one model. Immutable."""

    def fault(self, text: str) -> str | None:
        """What is wrong with a finished text, or None."""


class Sampler(Protocol):
    """Chooses the tokens of one sequence. Owned by the inference thread."""

    def pick(self, index: int) -> Token:
        """Choose after the last batch's run number `index`, and remember the choice.

        Raises DecodeFailed when the model gave no numbers to choose by.
        """

    def close(self) -> None:
        """Give its memory back."""


class Model(Protocol):
    """A loaded model and its memory.

    `tokenise` and `compile` are for any thread, all else for the inference thread alone.
    """

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""

    @property
    def template(self) -> str | None:
        """Its chat template, in Jinja, if it has one."""

    @property
    def begin_text(self) -> str:
        """How templates spell the token that begins a text."""

    @property
    def end_text(self) -> str:
        """How templates spell the token that ends one."""

    @property
    def begins_with(self) -> Token | None:
        """The token that every prompt begins with, for models that were trained so."""

    def tokenise(self, text: str, *, scaffold: bool) -> list[Token]:
        """Turn text into tokens, from any thread; only in a scaffold special tokens are parsed."""

    def piece(self, token: Token) -> bytes:
        """The bytes that a token stands for; none for control tokens."""

    def ends_text(self, token: Token) -> bool:
        """Whether the model says with this token that it has finished."""

    def compile(self, constraint: Constraint, terms: CompileTerms) -> CompiledConstraint:
        """Compile a constraint, from any thread.

        Raises CommandError (invalid_grammar), and JobError once nobody wants it.
        """

    def sampler(self, sampling: Sampling, constraint: CompiledConstraint | None) -> Sampler:
        """Make a sampler that keeps to the constraint, which this model has compiled."""

    def decode(self, runs: Sequence[Run], interrupt: Interrupt | None = None) -> list[int]:
        """Evaluate one batch; answer which runs were, by their index. Raises DecodeFailed.

        All are, unless an interruptible model is asked to end meanwhile; the memory of the others is as it was.
        """

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Let the empty slot `target` begin with the first `tokens` tokens of `source`."""

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget what a slot holds beyond its first `tokens` tokens."""

    def close(self) -> None:
        """Free weights and memory. Nothing else is called afterwards."""
