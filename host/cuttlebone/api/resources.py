"""The resources of the API, as types. Every field is always there, null where it has no value."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone_abi import Envelope, JobStatus, Json


class Resource(BaseModel):
    """Settings that all resources share."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class JobLinks(Resource):
    """Where the rest of a job is, as absolute paths."""

    self: str
    events: str
    result: str
    cancel: str
    journal: str
    spec: str


class QueueResource(Resource):
    """Where a queued job stands."""

    position: int = Field(description="Jobs that go first.")
    waiting_for: str = Field(description="What the job needs in order to start.")


class AccountingResource(Resource):
    """Where the time of a job went, in milliseconds, and what its guest used."""

    queue_ms: int
    guest_ms: int = Field(description="Inside the code of the block.")
    infer_ms: int = Field(description="In generations, waiting included.")
    infer_wait_ms: int = Field(
        description="Of these, waiting for admission or for the model to load."
    )
    prefill_ms: int = Field(description="Of these, from admission to the first token.")
    decode_ms: int = Field(
        description="Of these, from the first token to the end, the verdicts of the guest included."
    )
    host_ms: int = Field(description="The rest of the running time.")
    steps: int
    memory_bytes_peak: int
    fuel: int | None = Field(
        description="Operations of the guest's code; null where the spec sets no `limits.fuel`."
    )
    tokens_cached: int = Field(description="Prompt tokens that were not evaluated again.")


class JobSummary(Resource):
    """A job in a listing: what is small about it."""

    id: str
    spec: str
    status: JobStatus
    attempt: int = Field(description="How often the job was started: 0 while it is queued.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    labels: dict[str, str]
    priority: Priority
    ttl_s: int | None = Field(description="How long it is kept after its end, if it said so.")
    expires_at: datetime | None = Field(description="When it ends if it has not been started.")
    record: Recording = Field(description="How much its journal keeps.")
    cancel_requested: bool
    links: JobLinks


class JobResource(JobSummary):
    """A job as it stands."""

    queue: QueueResource | None = Field(description="While the job is queued.")
    progress: Json = Field(description="What the block emitted last.")
    callback_url: str | None = Field(description="Where its end is told, as it was submitted.")
    callback_state: str | None = Field(
        description="When the job has ended, if it has a callback: `pending`, `delivered` or "
        "`abandoned`."
    )
    limits: Limits = Field(description="What the job may use: spec, request and host together.")
    block_sha256: str | None = Field(
        description="Of the block that it runs: the one that its spec named when it was accepted."
    )
    spec_sha256: str | None = Field(
        description="Of all that its spec said when it was accepted; jobs with the same one ran "
        "under the same spec."
    )
    accounting: AccountingResource | None = Field(description="When the job has ended.")
    envelope: Envelope | None = Field(description="When the job has ended.")


class JobPage(Resource):
    """Some jobs, newest first."""

    jobs: tuple[JobSummary, ...]
    cursor: str | None = Field(
        description="Give it as `?cursor=` for the next page; null: no more."
    )


class BlockResource(Resource):
    """The block that a spec runs."""

    digest: str
    size_bytes: int
    abi_version: int


class SignatureResource(Resource):
    """What the block declares to take and to give."""

    input: str
    output: str


class BlockLinks(Resource):
    """Where a block is, as an absolute path."""

    self: str


class KnownBlockResource(Resource):
    """A block that this host knows."""

    digest: str = Field(description="What a spec names it by: `sha256:` and 64 digits.")
    size_bytes: int
    abi_version: int
    signature: SignatureResource
    uploaded: bool = Field(description="False: it is a file that a spec names.")
    specs: tuple[str, ...] = Field(description="Names of the specs that run it.")
    links: BlockLinks


class BlockList(Resource):
    """All blocks, by digest."""

    blocks: tuple[KnownBlockResource, ...]


class GrantsResource(Resource):
    """What the jobs of a spec may reach."""

    read: tuple[str, ...] = Field(description="Files and folders, as written in the spec.")
    follow_symlinks: bool


class SpecLinks(Resource):
    """Where the rest of a spec is, as absolute paths."""

    self: str
    jobs: str


class SpecResource(Resource):
    """A spec that can be submitted."""

    name: str
    description: str
    model: str | None = Field(description="Role of the model; null: the jobs do not infer.")
    block: BlockResource
    signature: SignatureResource
    input_schema: Json = Field(description="JSON Schema of the input; true accepts everything.")
    output_schema: Json = Field(description="JSON Schema of the result.")
    limits: Limits = Field(description="What one job may use: spec and host together.")
    grants: GrantsResource
    data_policy: str
    links: SpecLinks


class UnusableSpec(Resource):
    """A spec file with a fault. It serves nothing until it is mended."""

    file: str
    fault: str


class SpecList(Resource):
    """All specs, by name."""

    specs: tuple[SpecResource, ...]
    unusable: tuple[UnusableSpec, ...]


class ModelResource(Resource):
    """A model that the host serves."""

    role: str
    state: str = Field(
        description="`unloaded`, `loading`, `ready`, `failed` or `stopped`; others may come."
    )
    progress: float | None = Field(
        description="The part of the load that is done, 0 to 1, while the state is `loading`; else null."
    )
    reason: str | None = Field(description="Why it failed.")
    file: str
    context_tokens: int | None = Field(description="Null until the model is loaded.")


class ModelList(Resource):
    """All models, by role."""

    models: tuple[ModelResource, ...]


class Health(Resource):
    """The host is alive."""

    status: str
    version: str


class ReadinessResource(Resource):
    """Whether the host can serve all that it is set up to serve."""

    ready: bool
    reasons: tuple[str, ...] = Field(description="Why it is not ready.")
    isolation: dict[str, str] = Field(
        description="Each layer around a guest: `on`, or `off` and why. See docs/security.md."
    )


class AttemptResource(Resource):
    """One try to tell a callback."""

    number: int
    at: datetime
    status: int | None = Field(description="HTTP status of the answer; null if there was none.")
    reason: str = Field(description="Why it failed; empty if it did not.")
    took_ms: int


class DeliveryResource(Resource):
    """The one message about the end of a job."""

    id: str = Field(description="`webhook-id` of the message, the same in each attempt.")
    url: str
    state: str = Field(description="`pending`, `delivered` or `abandoned`.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(description="While it is pending.")
    attempts: tuple[AttemptResource, ...]


class DeliveryList(Resource):
    """What became of the callback of a job."""

    callback_url: str | None = Field(description="Null: the job has no callback.")
    deliveries: tuple[DeliveryResource, ...]
