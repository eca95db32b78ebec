"""What the inference thread knows of one generation, and how the batch is bounded."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cuttlebone.generation.outcome import Finished, Piece
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.answer_text import AnswerText
from cuttlebone.inference.model import CompiledConstraint, Model, Run, Sampler, Slot, Token
from cuttlebone.inference.prompts import Prepared
from cuttlebone.inference.scheduler import Chunk
from cuttlebone.inference.turns import Demand
from cuttlebone_abi import Finish


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How the batch of one model is bounded."""

    batch_tokens_max: int = 512
    verdict_lag_max: int = 0
    """Pieces that a generation may be ahead of its guest's verdicts."""
    gather_s: float = 0.003
    """How long a batch waits for the verdicts on the pieces just delivered, and for no others."""
    gather_share: float = 0.1
    """It waits longer if that is no more than this part of what the last batch took.

    Who comes too late misses a whole batch; so many guest processes need more than 3 ms to answer.
    """
    shares_prefixes: bool = True
    """Whether prompts of one tenant share the memory of what they begin with."""
    kept_cells_share: float = 0.5
    """The part of a pool that prompts of ended generations may occupy; in streams any that is free."""


@dataclass(slots=True)
class LiveSequence:
    """One generation with or without its place in the batch."""

    generation: Generation
    prompt: tuple[Token, ...]
    constraint: CompiledConstraint | None
    max_tokens: int
    answer: AnswerText
    scheduled: bool = True
    """Whether the scheduler knows it."""
    slot: Slot | None = None
    sampler: Sampler | None = None
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

    @classmethod
    def of(cls, generation: Generation, prepared: Prepared) -> "LiveSequence":
        """Begin a sequence for a generation."""
        request = generation.request
        answer = AnswerText(prepared.max_tokens, request.stop)
        return cls(generation, prepared.prompt, prepared.constraint, prepared.max_tokens, answer)

    @property
    def demand(self) -> Demand:
        """What it needs of the batch and the memory."""
        request = self.generation.request
        return Demand(
            request.job, request.tenant, request.interactive, self.prompt, self.max_tokens
        )

    def decode_run(self) -> Run | None:
        """The token to evaluate next, if it has its place and one was chosen."""
        if self.slot is None or self.sampled is None:
            return None
        # Of what was sampled all but this one is in memory.
        position = len(self.prompt) + self.answer.tokens_out - 1
        return Run(self.slot, position, (self.sampled,), wants_logits=True)

    def run(self, chunk: Chunk) -> Run | None:
        """A chunk of its prompt, if it has its place; after the last one a token is chosen."""
        if self.slot is None:
            return None
        end = chunk.position + chunk.tokens
        tokens, last = self.prompt[chunk.position : end], end == len(self.prompt)
        return Run(self.slot, chunk.position, tokens, wants_logits=last)

    def sample(self, model: Model, index: int) -> None:
        """Choose the next token after its run of the batch, number `index`; raises DecodeFailed."""
        if self.sampler is None:
            return
        token = self.sampler.pick(index)
        self.sampled = token
        self.generation.spend(tokens_out=1)
        ended = model.ends_text(token)
        piece = self.answer.end() if ended else self.answer.add(model.piece(token))
        if piece:
            self.outgoing.append(Piece(piece))

    def close_sampler(self) -> None:
        """Give the sampler's memory back; a second time does nothing."""
        if self.sampler is not None:
            self.sampler.close()
            self.sampler = None

    def outcome(self) -> Finished | str:
        """What the generation came to, once its answer is finished; text says what is wrong with it."""
        finish = self.answer.finish
        if finish is None:
            return "the answer has no end"
        # A text that was cut, by whomever, cannot be whole; one that ended has to be.
        held = self.constraint if finish is Finish.EOS else None
        fault = held.fault(self.answer.text) if held is not None else None
        if fault is not None:
            return f"the finished text breaks its constraint: {fault}"
        return Finished(
            self.answer.text,
            finish,
            tokens_in=len(self.prompt),
            tokens_out=self.answer.tokens_out,
            tokens_cached=self.generation.tokens_cached,
            seed=self.generation.request.sampling.seed,
        )


def patience(
    sequences: Iterable[LiveSequence], limits: BatchLimits, now_s: float, *, batch_s: float
) -> tuple[int, float]:
    """For how many verdicts a batch waits, and how many seconds: only for those asked just now.

    `batch_s` is what the last batch took.
    """
    window_s = max(limits.gather_s, limits.gather_share * batch_s)
    ends_s = [
        sequence.asked_s + window_s
        for sequence in sequences
        if sequence.unjudged > limits.verdict_lag_max and sequence.asked_s + window_s > now_s
    ]
    return (len(ends_s), max(ends_s) - now_s) if ends_s else (1, 0.0)
