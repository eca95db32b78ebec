"""What one model has done since its thread was started, in numbers."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Figures:
    """A reading of a meter; times in seconds, everything but the last four summed up."""

    finished: int
    failed: int
    cancelled: int
    tokens_in: int
    """Prompt tokens, evaluated or copied."""
    tokens_cached: int
    """Of these, not evaluated."""
    tokens_out: int
    batches: int
    batch_tokens: int
    prefill_s: float
    """Batches, by the share of prompt tokens in each."""
    decode_s: float
    queue_wait_s: float
    """From submission to admission, of all admitted generations."""
    first_token_s: float
    """From submission to the first token, of all generations that had one."""
    first_tokens: int
    restarts: int
    """Times that the thread broke and was started again."""
    running: int
    """Generations in the batch now."""
    waiting: int
    """Generations waiting for their place now."""
    free_cells: int
    """Tokens that the memory has room for now, prompts that are kept not counted as room."""
    kept_prompts: int
    """Prompts in memory now that no generation uses."""


class Meter:
    """The numbers behind the figures. Written by the inference thread alone, read by any.

    A reading is not taken at one instant: each number is right, their sums may be a batch apart.
    """

    def __init__(self) -> None:
        self.finished = 0
        self.failed = 0
        self.cancelled = 0
        self.tokens_in = 0
        self.tokens_cached = 0
        self.tokens_out = 0
        self.batches = 0
        self.batch_tokens = 0
        self.prefill_s = 0.0
        self.decode_s = 0.0
        self.queue_wait_s = 0.0
        self.first_token_s = 0.0
        self.first_tokens = 0
        self.restarts = 0
        self.running = 0
        self.waiting = 0
        self.free_cells = 0
        self.kept_prompts = 0

    def batch(self, *, prefill_tokens: int, decode_tokens: int, took_s: float) -> None:
        """Count one batch."""
        tokens = prefill_tokens + decode_tokens
        self.batches += 1
        self.batch_tokens += tokens
        self.prefill_s += took_s * prefill_tokens / tokens
        self.decode_s += took_s * decode_tokens / tokens

    def figures(self) -> Figures:
        """Read all numbers."""
        return Figures(**{field.name: getattr(self, field.name) for field in fields(Figures)})
