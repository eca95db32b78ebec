"""What a job asks a model for."""

from dataclasses import dataclass
from typing import TypeAlias

from cuttlebone_abi import Json


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen, in the terms of llama.cpp; None switches a filter off."""

    temperature: float = 0.0
    """0 takes the likeliest token, always."""
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
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
