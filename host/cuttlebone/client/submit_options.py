"""What may be said of a job besides its spec and its input: the keywords of `submit`."""

from collections.abc import Mapping
from typing import Literal, TypedDict


class JobOptions(TypedDict, total=False):
    """What many jobs may share; what is left out is up to the host. docs/http-api.md says what each means."""

    limits: Mapping[str, int]
    """Narrow the limits of the spec."""
    labels: Mapping[str, str]
    priority: Literal["interactive", "batch"]
    ttl_s: int | None
    """How long the job is kept after its end."""
    expires_in_s: int | None
    """How long it may wait to be started."""
    record: Literal["digests", "full"] | None
    """How much its journal keeps."""
    callback_url: str | None
    """Where its end is told."""


class SubmitOptions(JobOptions, total=False):
    """All of them: what is said of one job alone as well."""

    job_id: str | None
    """An id of one's own, 8 to 64 of `A-Za-z0-9_-`."""
    idempotency_key: str | None
    """Whoever submits the same again with the same key gets the same job.

    Without one, and without `job_id`, a new key is made for each call of `submit`, so that the
    client may repeat a request whose connection broke.
    """
