"""What the inference thread knows of one generation, and how the batch is bounded."""

from dataclasses import dataclass, field

from cuttlebone.inference.answer import Answer
from cuttlebone.inference.generation import Generation, Piece
from cuttlebone.inference.model import Form, Sampler, Slot, Token


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How the batch of one model is bounded."""

    batch_tokens_max: int = 512
    verdict_lag_max: int = 0
    """Pieces that a generation may be ahead of its guest's verdicts."""
    gather_s: float = 0.003
    """How long a batch waits for the verdicts on the pieces just delivered, and for no others."""
    shares_prefixes: bool = True
    """Whether prompts of one tenant share the memory of what they begin with."""
    kept_cells_share: float = 0.5
    """The part of the memory that prompts of ended generations may occupy."""


@dataclass(slots=True)
class LiveSequence:
    """One generation with or without its place in the batch."""

    generation: Generation
    prompt: tuple[Token, ...]
    form: Form | None
    answer: Answer
    scheduled: bool = True
    """Whether the scheduler knows it."""
    slot: Slot | None = None
    sampler: Sampler | None = None
    evaluated: int = 0
    """Tokens in memory: the prompt, then what was generated."""
    cached: int = 0
    sampled: Token | None = None
    """Chosen and not evaluated yet."""
    judged: int = 0
    """Verdicts received."""
    asked_s: float = 0.0
    """When the last piece was delivered."""
    outgoing: list[Piece] = field(default_factory=list)

    @property
    def unjudged(self) -> int:
        """Pieces delivered that the guest has not answered for."""
        if not self.generation.request.asks_verdict:
            return 0
        return self.answer.pieces - self.judged
