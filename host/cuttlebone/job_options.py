"""What may be said of a job besides its spec and its input: pure values, which host and client share."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE: Final = 1 << 20

Positive = Annotated[int, Field(strict=True, ge=1)]


class Limits(BaseModel):
    """What one job may use. Every field has a bound; silence means the default, never unlimited."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    time_ms: Positive = 60_000
    """Wall clock from the start of running, less the time waited for admission or loading of a model.

    Of a spec with a model the default is `MODEL_TIME_MS`: such a job shares the model with others.
    """
    infer_wait_ms: Positive = 300_000
    """Time that the generations of a job may wait for admission or for their model to load."""
    memory_bytes: Positive = 64 * MEBIBYTE
    """Linear memory of the guest."""
    stack_bytes: Annotated[int, Field(strict=True, ge=1, le=MEBIBYTE)] = 512 << 10
    """Native stack of the guest's code."""
    fuel: Positive | None = None
    """Operations of the guest's code; None does not count them, which is faster."""
    steps: Positive = 100_000
    """Calls of `cf_init` and `cf_step`."""
    command_bytes: Positive = MEBIBYTE
    """One command."""
    json_depth: Positive = 128
    """Nesting of one command."""
    json_nodes: Positive = 100_000
    """Arrays and objects in one command."""
    compile_ms: Positive = 1_000
    """Processor time of reading one grammar, schema or template."""
    handles: Positive = 64
    """Files open at once."""
    window_bytes: Positive = 16 * MEBIBYTE
    """One slice. No more than `memory_bytes` of the same job, which has to hold it."""
    list_entries: Positive = 1_000
    """Entries in one answer to `list`; the guest asks again for more."""
    events: Positive = 10_000
    """Progress events."""
    event_bytes: Positive = 16 * MEBIBYTE
    """All progress events together."""
    infer_calls: Positive = 1_000
    """Generations."""
    tokens_in: Positive = 1_000_000
    """Prompt tokens of all generations together."""
    tokens_out: Positive = 16_384
    """Generated tokens of all generations together."""

    def narrowed(self, stated: "Limits") -> Self:
        """The lower of both for each field that `stated` sets; what it leaves out stays."""
        lower = {
            name: _lower(value, getattr(self, name))
            for name, value in stated.model_dump(exclude_unset=True).items()
        }
        return self._with(lower)

    def bounded(self, maximum: "Limits") -> Self:
        """The lower of both for every field."""
        ceiling = maximum.model_dump()
        lower = {name: _lower(value, ceiling[name]) for name, value in self.model_dump().items()}
        return self._with(lower)

    def _with(self, lower: Mapping[str, int | None]) -> Self:
        changed = self.model_copy(update=lower)
        window_bytes = min(changed.window_bytes, changed.memory_bytes)
        return changed.model_copy(update={"window_bytes": window_bytes})


def _lower(one: int | None, other: int | None) -> int | None:
    """The lower of two bounds; None is none."""
    return min((bound for bound in (one, other) if bound is not None), default=None)


MODEL_TIME_MS: Final = 600_000
"""Default of `time_ms` for jobs that have a model."""

LIMITS_MAX: Final = Limits(
    time_ms=3_600_000,
    infer_wait_ms=3_600_000,
    memory_bytes=1024 * MEBIBYTE,
    stack_bytes=MEBIBYTE,
    steps=10_000_000,
    command_bytes=8 * MEBIBYTE,
    json_depth=128,
    json_nodes=200_000,
    compile_ms=10_000,
    handles=1024,
    window_bytes=64 * MEBIBYTE,
    list_entries=10_000,
    events=1_000_000,
    event_bytes=256 * MEBIBYTE,
    infer_calls=100_000,
    tokens_in=100_000_000,
    tokens_out=10_000_000,
)


class Priority(StrEnum):
    """Who goes first in the queue. An older job of lower priority still comes before a new one."""

    INTERACTIVE = "interactive"
    """Somebody waits for it: as if it had come `PRIORITY_LEAD_S` earlier."""
    BATCH = "batch"


class Recording(StrEnum):
    """How much of the events a journal keeps."""

    DIGESTS = "digests"
    """What only a model can answer whole, everything else as digests."""
    FULL = "full"
    """Every command and event whole."""
