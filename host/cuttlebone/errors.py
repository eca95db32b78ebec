"""All errors that cross a module's border, sorted by who must act.

The guest or its author: CommandError, JobError, Interrupted, BlockRefused. The caller of the API:
CallerError. The operator: OperatorError, and StoreUnavailable until there is room again. Anything else is a bug of ours, and only the last
resort of a thread may catch it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cuttlebone_abi import ErrorCode

RETRY_SOON_S: Final = 1
"""When to ask again for what passes by itself: a job that has not ended, a burst of requests."""
RETRY_LATER_S: Final = 5
"""When to come back to a host that has no room for more, or that is stopping."""


class CommandError(Exception):
    """A command that cannot be carried out: an `error` event if the guest wants one, else the end."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class JobError(Exception):
    """The end of a job, whatever its guest wished: a limit of the job, a trap, a cancellation."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Interrupted(Exception):
    """A call into a guest was stopped from outside. Whoever asked for it knows the reason."""


class BlockRefused(Exception):
    """A module that is no block. `faults` names everything wrong with it, each with its mending."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class ProblemCode(StrEnum):
    """The `code` of a problem document: what is wrong with a request."""

    BAD_REQUEST = "bad_request"
    MALFORMED_JSON = "malformed_json"
    INVALID_BODY = "invalid_body"
    SCHEMA_VALIDATION_FAILED = "schema_validation_failed"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    BODY_TOO_LARGE = "body_too_large"
    UNKNOWN_ROUTE = "unknown_route"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    UNKNOWN_JOB = "unknown_job"
    UNKNOWN_SPEC = "unknown_spec"
    SPEC_UNUSABLE = "spec_unusable"
    NOT_FINAL = "not_final"
    QUEUE_FULL = "queue_full"
    QUOTA_EXCEEDED = "quota_exceeded"
    JOB_EXISTS = "job_exists"
    UNKNOWN_BLOCK = "unknown_block"
    BLOCK_IN_USE = "block_in_use"
    DIGEST_MISMATCH = "digest_mismatch"
    BLOCK_REFUSED = "block_refused"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    STORE_UNAVAILABLE = "store_unavailable"
    UNAUTHENTICATED = "unauthenticated"
    MISSING_SCOPE = "missing_scope"
    HEAD_TOO_LARGE = "head_too_large"
    BODY_TIMEOUT = "body_timeout"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    FORBIDDEN_HOST = "forbidden_host"
    FORBIDDEN_ORIGIN = "forbidden_origin"
    STOPPING = "stopping"
    MISCONFIGURED = "misconfigured"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One place in a request that is wrong: an RFC 6901 pointer into the body, and the reason."""

    pointer: str
    message: str


class CallerError(Exception):
    """A request that is refused; nothing was changed. The API turns it into a problem document."""

    def __init__(
        self,
        code: ProblemCode,
        message: str,
        *,
        faults: tuple[FieldFault, ...] = (),
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.faults = faults
        self.retry_after_s = retry_after_s


class OperatorError(Exception):
    """The host cannot do what its operator set up; the message says what, where and what to do."""


class StoreUnavailable(Exception):
    """The store cannot be written: a full disk, an I/O error. Nothing of the request was kept."""
