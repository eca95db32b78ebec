"""What one generation has cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Who asked, who served, and what that took up to now or to the end; times in seconds."""

    tenant: str
    role: str
    """The name under which the model was asked for."""
    endpoint: str
    """Where the generation ran."""
    tokens_in: int
    """Prompt tokens, evaluated or taken from the cache."""
    tokens_cached: int
    """Of these, not evaluated."""
    tokens_out: int
    """Tokens sampled, whether or not they came to be text."""
    waited_s: float
    """From submission to admission, loading of the model included."""
    prefill_s: float
    """From admission to the first token, or to the end."""
    decode_s: float
    """From the first token to the end, waiting for verdicts included."""
