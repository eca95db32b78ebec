"""Jobs, as the HTTP API shows them: one, a page of them, what was told to a callback."""

from datetime import datetime

from pydantic import Field

from cuttlebone.http_types.problem_document import Problem
from cuttlebone.http_types.resource import OrNewer, Resource
from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone_abi import Envelope, JobStatus, Json


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

    position: int = Field(description="Jobs of its tenant that go first, counted up to 1000.")
    waiting_for: str = Field(description="What the job needs in order to start.")


class AccountingResource(Resource):
    """Where the time of a job went, in milliseconds, and what its guest used."""

    queue_ms: int
    guest_ms: int = Field(description="Inside the code of the block.")
    infer_ms: int = Field(
        description="In generations, waiting included; verdicts of the guest are the guest's."
    )
    infer_wait_ms: int = Field(
        description="Of these, waiting for admission or for the model to load."
    )
    prefill_ms: int = Field(description="Of these, in which there were only prompts to evaluate.")
    decode_ms: int = Field(
        description="Of these, in which a generation was under way after its first token."
    )
    shared_ms: int = Field(
        0,
        description="Of these two, what the model spent on generations of other jobs in the same "
        "batches, by their tokens.",
    )
    host_ms: int = Field(description="The rest of the running time.")
    steps: int
    memory_bytes_peak: int
    fuel: int | None = Field(
        None,
        description="Operations of the guest's code; null where the spec sets no `limits.fuel`.",
    )
    tokens_cached: int = Field(description="Prompt tokens that were not evaluated again.")
    exact: bool | None = Field(
        None,
        description="Whether other jobs had no part in any text that a model gave it; null without one. "
        "See docs/inference.md.",
    )


class JobSummary(Resource):
    """A job in a listing: what is small about it."""

    id: str
    spec: str
    status: JobStatus
    attempt: int = Field(description="How often the job was started: 0 while it is queued.")
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    priority: OrNewer[Priority] = Priority.BATCH
    ttl_s: int | None = Field(None, description="How long it is kept after its end, if it said so.")
    expires_at: datetime | None = Field(
        None, description="When it ends if it has not been started."
    )
    record: OrNewer[Recording] = Field(Recording.DIGESTS, description="How much its journal keeps.")
    cancel_requested: bool = False
    links: JobLinks


class JobResource(JobSummary):
    """A job as it stands."""

    queue: QueueResource | None = Field(None, description="While the job is queued.")
    progress: Json = Field(None, description="What the block emitted last.")
    callback_url: str | None = Field(
        None, description="Where its end is told, as it was submitted."
    )
    callback_state: str | None = Field(
        None,
        description="When the job has ended, if it has a callback: `pending`, `delivered` or "
        "`abandoned`.",
    )
    limits: Limits = Field(description="What the job may use: spec, request and host together.")
    block_sha256: str | None = Field(
        None,
        description="Of the block that it runs: the one that its spec named when it was accepted.",
    )
    spec_sha256: str | None = Field(
        None,
        description="Of all that its spec said when it was accepted; jobs with the same one ran "
        "under the same spec.",
    )
    accounting: AccountingResource | None = Field(None, description="When the job has ended.")
    envelope: Envelope | None = Field(None, description="When the job has ended.")


class ListedJob(JobSummary):
    """A job on a page."""

    envelope: Envelope | None = Field(
        None, description="When the job has ended, if the page was asked to include it."
    )


class JobCount(Resource):
    """To how many jobs something was done."""

    jobs: int


class JobPage(Resource):
    """Some jobs, newest first."""

    jobs: list[ListedJob]
    cursor: str | None = Field(
        None, description="Give it as `?cursor=` for the next page; null: no more."
    )
    count: int | None = Field(None, description="Jobs on all pages, if that was asked for.")
    pending: int | None = Field(
        None, description="Jobs that are queued or running, if the request has waited for them."
    )


class EventResource(Resource):
    """One event of a job."""

    number: int = Field(description="Its place in the log, from 1.")
    kind: str = Field(description="`status`, `progress`, `token` or `result`; others may come.")
    at: datetime
    data: Json = Field(description="As it stands in the stream of events.")


class BatchAnswer(Resource):
    """What became of one line of a batch."""

    line: int = Field(description="Its place in the batch, from 1.")
    status: int = Field(description="As the HTTP status would be, had it been submitted by itself.")
    replayed: bool = Field(False, description="The same request made this job before.")
    retry_after_s: int | None = Field(None, description="When to submit a refused line again.")
    job: JobSummary | None = Field(None, description="If it was accepted.")
    problem: Problem | None = Field(None, description="If it was refused.")


class AttemptResource(Resource):
    """One try to tell a callback."""

    number: int
    at: datetime
    status: int | None = Field(None, description="HTTP status of the answer; null: there was none.")
    reason: str = Field("", description="Why it failed; empty if it did not.")
    took_ms: int = 0


class DeliveryResource(Resource):
    """The one message about the end of a job."""

    id: str = Field(description="`webhook-id` of the message, the same in each attempt.")
    url: str
    state: str = Field(description="`pending`, `delivered` or `abandoned`.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(None, description="While it is pending.")
    attempts: list[AttemptResource] = Field(default_factory=list)


class DeliveryList(Resource):
    """What became of the callback of a job."""

    callback_url: str | None = Field(None, description="Null: the job has no callback.")
    deliveries: list[DeliveryResource] = Field(default_factory=list)
