"""What a request shows to be let in, wherever it shows it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request shows to be let in. The token is left out of every representation."""

    token: str | None = field(repr=False)
    """None: it shows none."""
    source: str
    """Where in the request it was looked for, as a refusal names it."""
