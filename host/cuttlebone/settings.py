"""What the operator decides: one settings object, from flags, environment (`CUTTLEBONE_…`) or defaults."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self

from platformdirs import user_cache_path, user_data_path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Positive = Annotated[int, Field(strict=True, ge=1)]
Count = Annotated[int, Field(ge=1)]
"""Not strict, as the environment has only text."""

Role = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9._-]{1,64}$")]

MEBIBYTE = 1 << 20


class Limits(BaseModel):
    """What one job may use. Every field has a bound; silence means the default, never unlimited."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    time_ms: Positive = 60_000
    """Wall clock from the start of running, less the time waited for admission or loading of a model."""
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
    handles: Positive = 64
    """Files open at once."""
    window_bytes: Positive = MEBIBYTE
    """One slice; a wider one is cut to this."""
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
        return self.model_copy(update=lower)

    def bounded(self, maximum: "Limits") -> Self:
        """The lower of both for every field."""
        ceiling = maximum.model_dump()
        lower = {name: _lower(value, ceiling[name]) for name, value in self.model_dump().items()}
        return self.model_copy(update=lower)


def _lower(one: int | None, other: int | None) -> int | None:
    """The lower of two bounds; None is none."""
    return min((bound for bound in (one, other) if bound is not None), default=None)


LIMITS_MAX: Final = Limits(
    time_ms=3_600_000,
    infer_wait_ms=3_600_000,
    memory_bytes=1024 * MEBIBYTE,
    stack_bytes=MEBIBYTE,
    steps=10_000_000,
    command_bytes=8 * MEBIBYTE,
    json_depth=128,
    handles=1024,
    window_bytes=8 * MEBIBYTE,
    list_entries=10_000,
    events=1_000_000,
    event_bytes=256 * MEBIBYTE,
    infer_calls=100_000,
    tokens_in=100_000_000,
    tokens_out=10_000_000,
)


class Isolation(StrEnum):
    """How far a guest is kept from the host."""

    PROCESS = "process"
    """A process for each job, behind every layer that the kernel offers."""
    THREAD = "thread"
    """The thread of the job: wasm alone stands between guest and host. For blocks that one trusts."""
    REQUIRE = "require"
    """As `process`, and the host does not start where a layer is missing."""


class Settings(BaseSettings):
    """The operator's choices. Environment variables are `CUTTLEBONE_` and the field in capitals."""

    model_config = SettingsConfigDict(env_prefix="CUTTLEBONE_", frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    socket: Path | None = None
    """Unix socket to listen on, instead of an address."""
    names: tuple[str, ...] = ()
    """Names under which the host may be addressed, besides loopback ones and `host`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8420
    """0 takes a free port."""
    specs: Path = Path("specs")
    """Folder of spec files, `*.yaml`, `*.yml` or `*.json`."""
    models: dict[Role, Path] = {}
    """GGUF file of each role."""
    models_memory_bytes: Positive | None = None
    """Memory of all loaded models together. With it models are loaded on demand, and the least
    recently used makes room; None loads all at the start."""
    cache: Path | None = None
    """Folder for compiled modules and results of trying model files; None is the user's own."""
    state: Path | None = None
    """Folder in which jobs survive a restart, of one host at a time; None keeps them in memory."""
    isolation: Isolation = Isolation.PROCESS
    """Where guests run."""
    jobs_running_max: Count = 4
    jobs_waiting_max: Count = 1_000
    tenant_jobs_waiting_max: Count = 500
    """Of these, jobs of one tenant."""
    tenant_jobs_running_max: Count | None = None
    """Jobs of one tenant that run at once; None is as many as there are."""
    tenant_stored_bytes_max: Count = 1024 * MEBIBYTE
    """What the jobs of one tenant may hold: inputs, events, journals, envelopes."""
    token_requests_per_s_max: Count = 200
    """Requests with one token, on average; as many may come at once."""
    token_streams_max: Count = 100
    """Event streams and waits that are open at once with one token."""
    jobs_kept_max: Count = 10_000
    """Finished jobs that are remembered in memory; the oldest go first."""
    jobs_kept_s: Count = 7 * 24 * 3600
    """How long finished jobs are kept in the state folder, unless they say otherwise."""
    attempts_max: Count = 3
    """How often a job may die with the host before it is given up."""
    journal_bytes_max: Count = 64 * MEBIBYTE
    """Commands and events that the journal of one job keeps whole; later ones are kept as digests."""
    callback_hosts: tuple[str, ...] = ()
    """Hosts, `name` or `name:port`, that the end of a job may be told to."""
    callback_secret_file: Path | None = None
    """File with the secrets that sign callbacks; None is one in the state folder."""
    callback_delays_s: tuple[Annotated[float, Field(ge=0)], ...] = (
        5, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400,
    )  # fmt: skip
    """Pauses between attempts to tell the end of a job; after the last one it is given up."""
    grace_s: Annotated[float, Field(gt=0)] = 10.0
    """How long running jobs may go on after a stop signal."""
    body_bytes_max: Count = 64 << 10
    """JSON body of one request."""
    connections_max: Count = 1_000
    """Connections that are served at once; one more is told so and closed."""
    stall_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """How long a body, or an answer that its client has to take, may stand still."""
    context_tokens_max: Count = 4096
    """Context of a model, at most what it was trained with."""
    threads: Count | None = None
    """Threads of one model; None is the logical cores, less one when there are more than two."""
    limits_max: Limits = LIMITS_MAX
    """What no spec and no request can exceed. Limits that are left out keep their maximum."""

    @field_validator("limits_max", mode="before")
    @classmethod
    def _over_maxima(cls, stated: object) -> object:
        """Put the limits that are stated over the default maxima, not over what a job has by default."""
        return {**LIMITS_MAX.model_dump(), **stated} if isinstance(stated, dict) else stated

    @property
    def state_folder(self) -> Path:
        """The folder in which `serve` keeps jobs, blocks and tokens unless it is told otherwise."""
        return self.state or user_data_path("cuttlebone")

    @property
    def cache_folder(self) -> Path:
        """The folder that `cache` means."""
        return self.cache or user_cache_path("cuttlebone")
