"""One job as a value: what was asked for, where it stands, how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cuttlebone.settings import Limits
from cuttlebone_abi import Envelope, JobStatus, Json

TENANT = "local"
"""Whose jobs these are, as long as there are no tokens."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a caller asks for."""

    spec: str
    input: Json
    limits: Limits | None = None
    """Narrows the limits of the spec; only the fields that are set count."""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where the time of a job went, in milliseconds, and what its guest used."""

    queue_ms: int
    guest_ms: int
    """Inside the guest's own code."""
    infer_ms: int
    """From submitting generations to their ends, waiting included."""
    infer_wait_ms: int
    """Of these, waiting for admission or for the model to load."""
    host_ms: int
    """The rest of the running time."""
    steps: int
    memory_bytes_peak: int
    fuel: int | None
    """Operations of the guest's code; None where they were not counted."""
    tokens_cached: int


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands. The store makes a new value for each change."""

    id: str
    spec: str
    input: Json
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


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a listing shows, newest first. `before` is the id of the last job already seen."""

    status: JobStatus | None = None
    spec: str | None = None
    label: tuple[str, str] | None = None
    limit: int = 50
    before: str | None = None


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where a queued job stands."""

    position: int
    """Jobs that go first."""
    waiting_for: str


def now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)
