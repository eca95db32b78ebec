"""The parts of a prompt: what a template says, and what people say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a prompt. Only in a scaffold do special tokens mean anything."""

    text: str
    scaffold: bool
