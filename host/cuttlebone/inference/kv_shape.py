"""How the memory of a model for its sequences is shaped, by the bytes that it may take: pure arithmetic."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import Header
from cuttlebone.settings import KvLayoutChoice

STREAMS_MIN: Final = 4
"""With fewer most generations would wait for their turn: exact text costs too much then."""
POOL_SLOTS: Final = 64
"""Sequences of a pool, running and kept: their cells are the bound, not their number."""
POOL_CONTEXTS: Final = 2
"""Whole contexts that a pool has room for, where there is memory for them."""
STREAM_CELLS_STEP: Final = 256
"""llama.cpp rounds what a stream holds up to a multiple of this."""


class KvLayout(StrEnum):
    """How sequences lie in memory."""

    STREAMS = "streams"
    """Each has a whole context to itself, and its numbers never depend on another one."""
    POOL = "pool"
    """All share one pool of cells, in whatever order these come free, which shows in their numbers."""


@dataclass(frozen=True, slots=True)
class KvShape:
    """The memory of one model, in whole contexts."""

    layout: KvLayout
    slots: int
    """Sequences that it can tell apart, running and kept."""
    contexts: int
    """Sequences of full length that it has room for."""
    generations_max: int
    """Sequences that run at once."""

    @classmethod
    def streams(cls, count: int = 16) -> Self:
        """A whole context for each of so many sequences."""
        return cls(KvLayout.STREAMS, count, count, count)

    @classmethod
    def pool(cls, contexts: int = POOL_CONTEXTS, *, generations_max: int = 16) -> Self:
        """One pool with room for so many whole contexts."""
        return cls(KvLayout.POOL, POOL_SLOTS, contexts, generations_max)

    @property
    def is_pool(self) -> bool:
        """Whether sequences share cells."""
        return self.layout is KvLayout.POOL

    def bytes_of(self, header: Header, context_tokens: int) -> int:
        """What it takes of the machine's memory."""
        return self.contexts * context_bytes(header, context_tokens)


def context_tokens_of(header: Header, context_tokens_max: int) -> int:
    """The context of a model: at most what it was trained with."""
    return min(
        header.number("{arch}.context_length", context_tokens_max) or context_tokens_max,
        context_tokens_max,
    )


def context_bytes(header: Header, context_tokens: int) -> int:
    """What the memory of one sequence of full length takes."""
    steps = -(-context_tokens // STREAM_CELLS_STEP)
    return steps * STREAM_CELLS_STEP * max(1, header.cell_bytes())


def shape_of(
    header: Header,
    *,
    choice: KvLayoutChoice,
    bytes_max: int,
    context_tokens: int,
    generations_max: int,
) -> KvShape:
    """The shape of a model's memory; raises OperatorError if streams are demanded and not one fits.

    A pool has room for one whole context in any case: with less the model could not be used.
    """
    each = context_bytes(header, context_tokens)
    fitting = min(generations_max, bytes_max // each)
    match choice:
        case KvLayoutChoice.STREAMS if fitting < 1:
            raise OperatorError(
                f"a KV stream of {context_tokens} tokens takes {each >> 20} MiB, and the model has "
                f"{bytes_max >> 20} MiB for all of them: raise kv_memory_bytes, lower "
                "context_tokens_max, or let kv_layout be pool or auto"
            )
        case KvLayoutChoice.STREAMS:
            return KvShape.streams(fitting)
        case KvLayoutChoice.AUTO if fitting >= min(STREAMS_MIN, generations_max):
            return KvShape.streams(fitting)
        case _:
            contexts = min(POOL_CONTEXTS, max(1, bytes_max // each))
            return KvShape.pool(contexts, generations_max=generations_max)
