"""What a host answers, as types. Fields unknown here are ignored: a host may be newer than its client."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from cuttlebone_abi import Envelope, JobStatus, Json

_ANSWERED = ConfigDict(frozen=True, extra="ignore")


class QueueResource(BaseModel):
    """Where a queued job stands."""

    model_config = _ANSWERED

    position: int
    """Jobs that go first."""
    waiting_for: str


class JobResource(BaseModel):
    """A job as it stands."""

    model_config = _ANSWERED

    id: str
    spec: str
    status: JobStatus
    attempt: int
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    queue: QueueResource | None = None
    progress: Json = None
    """The last one that the guest emitted."""
    labels: dict[str, str] = {}
    priority: str = "batch"
    ttl_s: int | None = None
    """How long it is kept after its end; None is as long as the host keeps any."""
    expires_at: datetime | None = None
    """A job that still waits then ends as `timeout`."""
    record: str = "digests"
    callback_url: str | None = None
    callback_state: str | None = None
    """`pending`, `delivered` or `abandoned`; when final, if there is a callback."""
    cancel_requested: bool = False
    accounting: dict[str, int | None] | None = None
    """Where the time went and what the guest used, units in the names; when final."""
    envelope: Envelope | None = None
    """When final."""


class JobPage(BaseModel):
    """Some jobs, newest first."""

    model_config = _ANSWERED

    jobs: list[JobResource]
    cursor: str | None = None
    """Leads to the next page; None on the last one."""


class SpecResource(BaseModel):
    """A spec that can be submitted."""

    model_config = _ANSWERED

    name: str
    description: str


class BlockResource(BaseModel):
    """A block that the host knows."""

    model_config = _ANSWERED

    digest: str
    """What a spec names it by: `sha256:` and 64 digits."""
    size_bytes: int
    abi_version: int
    uploaded: bool = False
    """Whether it was uploaded; else it is a file that a spec names."""
    specs: list[str] = []
    """Names of the specs that run it."""


class BlockList(BaseModel):
    """All blocks of a host, by digest."""

    model_config = _ANSWERED

    blocks: list[BlockResource]


class UnusableSpec(BaseModel):
    """A spec file with a fault, which serves nothing until it is mended."""

    model_config = _ANSWERED

    file: str
    fault: str


class SpecList(BaseModel):
    """All specs of a host, by name."""

    model_config = _ANSWERED

    specs: list[SpecResource]
    unusable: list[UnusableSpec] = []


class ModelResource(BaseModel):
    """A model that the host serves."""

    model_config = _ANSWERED

    role: str
    state: str
    """`unloaded`, `loading`, `ready`, `failed` or `stopped`."""
    progress: float | None = None
    """While it is loading, the part of that which is done, 0 to 1."""
    reason: str | None = None
    """Why it failed."""
    file: str | None = None
    context_tokens: int | None = None


class ModelList(BaseModel):
    """All models of a host, by role."""

    model_config = _ANSWERED

    models: list[ModelResource]


class AttemptResource(BaseModel):
    """One try to tell a callback."""

    model_config = _ANSWERED

    number: int
    at: datetime
    status: int | None = None
    """HTTP status of the answer."""
    reason: str = ""
    """Why it failed; empty if it did not."""
    took_ms: int = 0


class DeliveryResource(BaseModel):
    """The message about the end of a job."""

    model_config = _ANSWERED

    id: str
    url: str
    state: str
    """`pending`, `delivered` or `abandoned`."""
    next_attempt_at: datetime | None = None
    attempts: list[AttemptResource] = []


class DeliveryList(BaseModel):
    """What became of the callback of a job."""

    model_config = _ANSWERED

    callback_url: str | None = None
    deliveries: list[DeliveryResource] = []


class StreamEvent(BaseModel):
    """One event of a job's stream."""

    model_config = _ANSWERED

    number: int | None
    """Its place in the event log, from 1; None for what is not in the log, such as a snapshot."""
    kind: str
    """`snapshot`, `status`, `progress`, `token`, `result`, `gap`; others may come, leave those aside."""
    data: Json
