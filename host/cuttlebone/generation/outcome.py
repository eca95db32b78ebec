"""What comes back of a generation: pieces of text, then one outcome."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from cuttlebone_abi import ErrorCode, Finish


@dataclass(frozen=True, slots=True)
class Piece:
    """The next characters of the text: never empty, never ending inside a character."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a generation that went well. The pieces concatenate to a prefix of `text`."""

    text: str
    finish: Finish
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    seed: int


@dataclass(frozen=True, slots=True)
class FailedGeneration:
    """The end of a generation that went wrong or was cancelled; the tokens are what it spent."""

    code: ErrorCode
    message: str
    tokens_in: int
    tokens_out: int


CANCELLED: Final = "the generation was cancelled"

Outcome: TypeAlias = Finished | FailedGeneration
