"""What the job service answers with, besides jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cuttlebone.job.job import Job
from cuttlebone.specs.block_registry import BlockSummary


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model as the API shows it."""

    role: str
    state: str
    """`unloaded`, `loading`, `ready` or `failed`."""
    reason: str
    """Why it failed, else empty."""
    file: str
    context_tokens: int | None
    """None until it is loaded."""
    progress: float | None = None
    """While it is loading, the part of that which is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the host can serve all that it is set up to serve, and why not."""

    reasons: tuple[str, ...]
    layers: Mapping[str, str | None] = field(default_factory=dict)
    """Each layer around a guest: None where it holds, else why it does not."""

    @property
    def ready(self) -> bool:
        """Whether there is no reason against it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a submission."""

    job: Job
    replayed: bool
    """The same request made this job before."""


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block of this host."""

    block: BlockSummary
    uploaded: bool
    """Whether it was uploaded; else it is a file that a spec names."""
    specs: tuple[str, ...]
    """Names of the specs that run it."""


class ModelDirectory(Protocol):
    """Knows the models of the host."""

    def statuses(self) -> Sequence[ModelStatus]:
        """Every role with the state of its model."""
