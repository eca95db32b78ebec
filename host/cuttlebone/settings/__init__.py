"""What the operator decides: one settings object, from flags, environment, a file or defaults."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from platformdirs import user_cache_path, user_data_path
from pydantic import AfterValidator, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cuttlebone.job_options import LIMITS_MAX, MEBIBYTE, Limits

Count = Annotated[int, Field(ge=1)]
"""Not strict, as the environment has only text."""


def _checked_role(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name) is None:
        raise ValueError("should have 1 to 64 letters, digits, `.`, `_` or `-`")
    return name


Role = Annotated[str, AfterValidator(_checked_role)]


class Isolation(StrEnum):
    """How far a guest is kept from the host."""

    PROCESS = "process"
    """A process for each job, behind every layer that the kernel offers."""
    THREAD = "thread"
    """The thread of the job: wasm alone stands between guest and host. For blocks that one trusts."""
    REQUIRE = "require"
    """As `process`, and the host does not start where a layer is missing."""


class KvLayoutChoice(StrEnum):
    """How the memory of a model for its sequences is laid out."""

    AUTO = "auto"
    """In streams where enough of them fit."""
    STREAMS = "streams"
    """A whole context for each sequence: text never depends on neighbours."""
    POOL = "pool"
    """One pool for all: less memory, and text may depend on neighbours."""


class Settings(BaseSettings):
    """The operator's choices. Environment variables are `CUTTLEBONE_` and the field in capitals.

    The sentence below each field is also its help on the command line and its comment in a settings
    file.
    """

    model_config = SettingsConfigDict(
        env_prefix="CUTTLEBONE_", frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    host: str = "127.0.0.1"
    """IP address to listen on. One that other machines can reach needs tokens."""
    socket: Path | None = None
    """Unix socket to listen on, for this user alone, instead of an address."""
    names: tuple[str, ...] = ()
    """Names under which clients address the host, for proxies, besides loopback ones and `host`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8420
    """TCP port; 0 takes a free one."""
    specs: Path = Path("specs")
    """Folder of spec files, `*.yaml`, `*.yml` or `*.json`."""
    models: dict[Role, Path] = {}
    """GGUF file of each role that the host serves."""
    models_memory_bytes: Count | None = None
    """Memory of all loaded models together. With it models are loaded on demand, and the least
    recently used makes room; without it all are loaded at the start."""
    cache: Path | None = None
    """Folder for compiled blocks and results of trying model files; the user's own unless stated."""
    state: Path | None = None
    """Folder of jobs, uploaded blocks and tokens, of one host at a time; the user's own unless stated."""
    isolation: Isolation = Isolation.PROCESS
    """How far guests are kept from the host: `process`, `require` (as `process`, and no start where a
    layer is missing) or `thread`, which is for blocks that you trust."""
    jobs_running_max: Count = 16
    """Jobs that run at once."""
    jobs_waiting_max: Count = 1_000
    """Jobs that may wait; one more is refused."""
    tenant_jobs_waiting_max: Count = 500
    """Jobs of one tenant that may wait."""
    tenant_jobs_running_max: Count | None = None
    """Jobs of one tenant that run at once; as many as there are unless stated."""
    tenant_stored_bytes_max: Count = 1024 * MEBIBYTE
    """What the jobs of one tenant may hold: inputs, events, journals, envelopes."""
    token_requests_per_s_max: Count = 200
    """Requests a second with one token, on average; as many may come at once."""
    token_streams_max: Count = 100
    """Event streams and waits that are open at once with one token."""
    jobs_kept_max: Count = 10_000
    """Finished jobs that are remembered in memory; the oldest go first."""
    jobs_kept_s: Count = 7 * 24 * 3600
    """Seconds that finished jobs are kept in the state folder, unless they say otherwise."""
    attempts_max: Count = 3
    """How often a job may die with the host before it is given up."""
    journals_open_max: Count = 16
    """Journals that are sent at once, at most half of them of one tenant."""
    journal_bytes_max: Count = 64 * MEBIBYTE
    """Commands and events that the journal of one job keeps whole; later ones are kept as digests."""
    callback_hosts: tuple[str, ...] = ()
    """Hosts, `name` or `name:port`, that the end of a job may be told to."""
    callback_secret_file: Path | None = None
    """File with the secrets that sign callbacks; one in the state folder unless stated."""
    callback_delays_s: tuple[Annotated[float, Field(ge=0)], ...] = (
        5, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400,
    )  # fmt: skip
    """Pauses between attempts to tell the end of a job; after the last one it is given up."""
    grace_s: Annotated[float, Field(gt=0)] = 10.0
    """Seconds that running jobs may go on after a stop signal."""
    body_bytes_max: Count = 64 << 10
    """JSON body of one request."""
    batch_body_bytes_max: Count = 16 * MEBIBYTE
    """Body of one batch of submissions, each of which `body_bytes_max` bounds by itself."""
    connections_max: Count = 1_000
    """Connections that are served at once; one more is told so and closed."""
    stall_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds that a body, or an answer that its client has to take, may stand still."""
    context_tokens_max: Count = 4096
    """Context of a model, at most what it was trained with."""
    kv_memory_bytes: Count | None = None
    """Memory for the sequences of all models together, shared equally between them; an eighth of
    what the machine has available at the start unless stated."""
    generations_max: Annotated[int, Field(ge=1, le=64)] = 16
    """Generations of one model at once, at most: as many as its memory has streams for."""
    kv_layout: KvLayoutChoice = KvLayoutChoice.AUTO
    """How the memory of a model is laid out: `streams`, with which text is exact, `pool`, which takes
    less, or `auto`: streams where at least four fit."""
    threads: Count | None = None
    """Threads of one model; the logical cores unless stated, less one when there are more than two."""
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
