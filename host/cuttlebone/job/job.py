"""One job as a value: what was asked for, where it stands, how it ended."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone_abi import Envelope, JobStatus, Json, dump_json

TENANT = "local"
"""Whose jobs these are, as long as there are no tokens."""


class JobKey(NamedTuple):
    """What names a job on a host: an id belongs to its tenant, so two tenants may use the same one."""

    tenant: str
    id: str


class Fence(NamedTuple):
    """The attempt that somebody has seen or runs: what is written behind an older one is left out."""

    key: JobKey
    attempt: int
    owner: str
    """Who runs it; empty while it waits."""


PRIORITY_LEAD_S = 60
"""How much earlier an interactive job counts as having come."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a caller asks for."""

    spec: str
    input: Json
    limits: Limits | None = None
    """Narrows the limits of the spec; only the fields that are set count."""
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: Priority = Priority.BATCH
    ttl_s: int | None = None
    """How long the job is kept after its end; None is the host's default."""
    expires_in_s: int | None = None
    """How long it may wait in the queue; None is as long as it takes."""
    record: Recording | None = None
    """How much its journal keeps; None is what the spec says."""
    callback_url: str | None = None
    """Where the end of the job is told; None is nowhere."""
    job_id: str | None = None
    """The id that the caller chose; None lets the host choose one."""
    tenant: str = TENANT

    def digest(self, written_input: bytes) -> str:
        """SHA-256 of all that is asked for; equal requests have equal digests.

        `written_input` is the input as JSON, so that it need not be written for this alone.
        """
        limits = None if self.limits is None else self.limits.model_dump(exclude_unset=True)
        others = [
            limits,
            sorted(self.labels.items()),
            self.priority,
            self.ttl_s,
            self.expires_in_s,
            self.record,
            self.callback_url,
        ]
        asked = (dump_json([self.spec])[:-1], written_input, dump_json(others)[1:])
        return hashlib.sha256(b",".join(asked)).hexdigest()


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where the time of a job went, in milliseconds, and what its guest used."""

    queue_ms: int
    guest_ms: int
    """Inside the guest's own code."""
    infer_ms: int
    """From submitting generations to their ends, waiting included, verdicts of the guest left out."""
    infer_wait_ms: int
    """Of these, waiting for admission or for the model to load."""
    host_ms: int
    """The rest of the running time."""
    steps: int
    memory_bytes_peak: int
    fuel: int | None
    """Operations of the guest's code; None where they were not counted."""
    tokens_cached: int
    prefill_ms: int = 0
    """Of `infer_ms`, in which there were prompts alone to be evaluated. 0 in jobs kept before it was measured."""
    decode_ms: int = 0
    """Of `infer_ms`, in which a generation was under way after its first token."""
    shared_ms: int = 0
    """Of these two, what the model spent on generations of others. 0 in jobs kept before it was measured."""
    exact: bool | None = None
    """Whether none of its texts can depend on neighbours; None without a text, and in jobs kept
    before it was noted."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands. The store makes a new value for each change."""

    id: str
    spec: str
    input: bytes
    """JSON, the very bytes that its guest is given: written once, when it was checked."""
    limits: Limits
    """The effective ones."""
    labels: Mapping[str, str]
    created_at: datetime
    status: JobStatus = JobStatus.QUEUED
    attempt: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    progress: Json = None
    cancel_requested: bool = False
    envelope: Envelope | None = None
    accounting: Accounting | None = None
    tenant: str = TENANT
    priority: Priority = Priority.BATCH
    ttl_s: int | None = None
    expires_at: datetime | None = None
    """A job that still waits at this moment ends as `timeout`."""
    recording: Recording = Recording.DIGESTS
    """How much its journal keeps."""
    callback_url: str | None = None
    """Where its end is told."""
    crashes: int = 0
    """Attempts that ended with the death of the host."""
    owner: str = ""
    """Who runs this attempt; empty unless it runs."""
    block_sha256: str | None = None
    """Of the block that it was accepted for; None in jobs kept before it was noted."""
    spec_sha256: str | None = None
    """Of its spec as it took effect then (`SpecDocument`); None likewise."""
    request_sha256: str = ""
    """Tells whether a repeated request is the same one."""
    number: int = field(default=0, compare=False)
    """Its place in the order of acceptance, which the store gives; 0 before."""

    @property
    def key(self) -> JobKey:
        """What names it on a host."""
        return JobKey(self.tenant, self.id)

    @property
    def fence(self) -> Fence:
        """What writing to this attempt asks for."""
        return Fence(self.key, self.attempt, self.owner)


@dataclass(frozen=True, slots=True)
class JobStatusRow:
    """What a look at a job needs, without anything that may be large."""

    key: JobKey
    spec: str
    spec_sha256: str | None
    status: JobStatus
    attempt: int
    owner: str
    cancel_requested: bool
    last_event: int
    """Number of the last event in its log."""

    @property
    def fence(self) -> Fence:
        """What writing to this attempt asks for."""
        return Fence(self.key, self.attempt, self.owner)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What became of a submission."""

    job: Job
    replayed: bool
    """The same request made this job before."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where a queued job stands."""

    position: int
    """Jobs that go first."""
    waiting_for: str


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)
