"""The numbers that an inference thread counts."""

from dataclasses import fields

from cuttlebone.generation.figures import Figures


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
