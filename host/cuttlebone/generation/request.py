"""What a job asks a model for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from cuttlebone_abi import Json

REPEAT_LAST_TOKENS: Final = 64
"""As in llama.cpp's own programs."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen, in the terms of llama.cpp; None switches a filter off.

    `sampling_bounds` has the range of each number.
    """

    temperature: float = 0.0
    """0 takes the likeliest token, always."""
    top_p: float | None = None
    top_k: float | None = None
    """Whole, as `seed` is."""
    min_p: float | None = None
    repeat_penalty: float | None = None
    repeat_last: int = REPEAT_LAST_TOKENS
    """How many tokens back `repeat_penalty` looks."""
    seed: int = 0
    """32 bits. Said again in the answer."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The generated text has to be JSON that this JSON Schema accepts."""

    schema: Json


@dataclass(frozen=True, slots=True)
class Grammar:
    """The generated text has to be a sentence of this grammar, Lark-style or GBNF."""

    text: str


Constraint: TypeAlias = JsonSchema | Grammar


@dataclass(frozen=True, slots=True)
class CompileTerms:
    """What reading and compiling one constraint may take."""

    compile_ms: int = 1_000
    """Processor time."""
    check_wanted: Callable[[], None] = lambda: None
    """Raises JobError once nobody wants it."""


class RequestField(StrEnum):
    """A part of a request that not everything that generates can carry, by its name in `infer`.

    Of the command, or of a spec.
    """

    RAW = "raw"
    STOP = "stop"
    TOP_P = "top_p"
    TOP_K = "top_k"
    MIN_P = "min_p"
    REPEAT_PENALTY = "repeat_penalty"
    REPEAT_LAST = "repeat_last"
    SYSTEM = "system"
    """Nothing where a template has a system message of its own."""
    JSON_SCHEMA = "json_schema"
    GRAMMAR = "grammar"


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One inference: exactly one of `turns` and `raw_prompt` is set."""

    job: str
    """Prompts are prefilled job by job in turn."""
    tenant: str
    """Evaluated prompts are shared within a tenant, never between two."""
    turns: tuple[Turn, ...] | None
    raw_prompt: str | None
    max_tokens: int
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] = ()
    asks_verdict: bool = False
    """Whether each piece needs a `verdict` before the generation goes on."""
    interactive: bool = False
    """Prefilled before those that are not."""
    constraint: Constraint | None = None
    default_system: bool = True
    """Whether a template may begin a conversation without a system message with its own."""
    compile_ms: int = 1_000
    """Processor time of reading the constraint."""
    check_wanted: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
    """Called now and then while the prompt is made, from whichever thread makes it.

    Raises JobError once there is nobody who wants it.
    """

    @property
    def fields(self) -> frozenset[RequestField]:
        """The parts that it makes use of."""
        sampling = self.sampling
        used = {
            RequestField.RAW: self.raw_prompt is not None,
            RequestField.STOP: bool(self.stop),
            RequestField.TOP_P: sampling.top_p is not None,
            RequestField.TOP_K: sampling.top_k is not None,
            RequestField.MIN_P: sampling.min_p is not None,
            RequestField.REPEAT_PENALTY: sampling.repeat_penalty is not None,
            RequestField.REPEAT_LAST: sampling.repeat_last != REPEAT_LAST_TOKENS,
            RequestField.SYSTEM: not self.default_system,
            RequestField.JSON_SCHEMA: isinstance(self.constraint, JsonSchema),
            RequestField.GRAMMAR: isinstance(self.constraint, Grammar),
        }
        return frozenset(field for field, is_used in used.items() if is_used)
