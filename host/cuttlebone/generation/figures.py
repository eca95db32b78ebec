"""What the place where generations run has done so far, in numbers."""

from dataclasses import dataclass


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
