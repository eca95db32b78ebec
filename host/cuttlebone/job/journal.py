"""The journal of a job: what its guest was told, so that the guest can be driven there again.

A guest is a function of its input and of the events it was given. What is dear or cannot be had
again is kept whole; what can be had again is kept as a digest, so that no file content comes to
rest in the store.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

GENERATING: Final = frozenset({"infer", "infer_many"})
"""The commands that cost tokens."""
ASKING_THE_MODEL: Final = GENERATING | {"count_tokens"}
"""The commands that only a model can answer."""

_REST_BYTES: Final = 400


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step: the command that a guest returned, and the event that answered it."""

    step: int
    """Number of the call that returned the command: 1 for `cf_init`."""
    command: str
    """Its `cmd`."""
    command_sha256: str
    """Of the bytes that the guest returned."""
    event_sha256: str
    """Of the bytes that answered it."""
    event: bytes | None
    """These bytes, where they are kept."""
    reply: bytes | None = None
    """The bytes of the command, where they are kept."""
    pieces: tuple[str, ...] = ()
    """What `cf_on_token` was given meanwhile, in order."""
    tokens_in: int = 0
    """What a generation cost, so that it is counted though not paid again."""
    tokens_out: int = 0

    def size_bytes(self) -> int:
        """About what it takes: what is kept whole, and something for the rest."""
        kept = len(self.event or b"") + len(self.reply or b"") + sum(map(len, self.pieces))
        return kept + _REST_BYTES

    @property
    def dear(self) -> bool:
        """Whether to lose it would mean to pay for it again."""
        return self.command in GENERATING


@dataclass(frozen=True, slots=True)
class JournalPart:
    """One generation of an `infer_many` whose others are under way: its entry is not there yet."""

    step: int
    number: int
    """Of its request; 0 is the first."""
    command_sha256: str
    """Of the bytes of the whole command."""
    result: bytes
    """What it came to, an `InferResult` as JSON."""


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
