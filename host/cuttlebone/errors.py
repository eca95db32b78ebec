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


class FaultKind(StrEnum):
    """What can be wrong with a block, as far as there is something else to do about it.

    `cuttlebone.sandbox.remedies` says what, for each kind and toolchain.
    """

    NOT_WASM = "not_wasm"
    COMPONENT = "component"
    TEXT = "text"
    MALFORMED = "malformed"
    INVALID = "invalid"
    SIZE = "size"
    COMPILE_COST = "compile_cost"

    IMPORT = "import"
    """One that no toolchain makes by itself; those that do follow."""
    IMPORT_ASSEMBLYSCRIPT = "import_assemblyscript"
    IMPORT_BINDGEN = "import_bindgen"
    IMPORT_CLOCK = "import_clock"
    IMPORT_CONSOLE = "import_console"
    IMPORT_GO = "import_go"
    IMPORT_WASI = "import_wasi"
    IMPORT_MEMORY = "import_memory"
    IMPORT_TABLE = "import_table"

    EXPORT_MISSING = "export_missing"
    EXPORT_TYPE = "export_type"
    EXPORT_INITIALIZE = "export_initialize"
    """An `_initialize` that is another thing."""
    EXPORT_NAME = "export_name"
    """Nearly one of the contract."""
    MEMORY_NOT_EXPORTED = "memory_not_exported"

    SIMD = "simd"
    RELAXED_SIMD = "relaxed_simd"
    THREADS = "threads"
    EXCEPTIONS = "exceptions"
    TAIL_CALLS = "tail_calls"
    MEMORY64 = "memory64"
    MULTI_MEMORY = "multi_memory"
    PAGE_SIZE = "page_size"
    WIDE_ARITHMETIC = "wide_arithmetic"
    OTHER_PROPOSAL = "other_proposal"

    ABI_VERSION = "abi_version"
    SIGNATURE = "signature"
    UNTYPED = "untyped"
    """It declares no signature."""
    CONSTRUCTORS = "constructors"
    """They run again at every call."""
    START = "start"
    """It is not ready for a job in time, or at all."""
    PROGRAM = "program"
    """It was built with a main function."""
    INITIAL_MEMORY = "initial_memory"
    STACK = "stack"
    """A large one, in its first memory."""
    DEBUG = "debug"
    CODE = "code"

    TRAP = "trap"
    """The guest gave up, or did what wasm forbids."""
    LIMIT = "limit"
    ENDLESS = "endless"
    ALLOCATOR = "allocator"
    DESCRIPTOR = "descriptor"
    COMMAND = "command"
    HOST = "host"
    """Not the block's doing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a block. As text: what is wrong, and what to do whatever built it."""

    kind: FaultKind
    name: str
    """Of the import or export that it is about, as the module has it; else empty."""
    message: str
    """What is wrong, safe to show."""
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


class JobError(Exception):
    """The end of a job, whatever its guest wished: a limit of the job, a trap, a cancellation.

    `fault` says which fault of the block it was, where it was one; `last_words` is what the guest had
    to say of its own trap, unread, if it had anything to say.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        fault: FaultKind | None = None,
        last_words: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fault = fault
        self.last_words = last_words


class Interrupted(Exception):
    """A call into a guest was stopped from outside. Whoever asked for it knows the reason."""


class BlockRefused(Exception):
    """A module that is no block. `faults` names everything that is wrong with it."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


class ProblemCode(StrEnum):
    """The `code` of a problem document: what is wrong with a request."""

    BAD_REQUEST = "bad_request"
    MALFORMED_JSON = "malformed_json"
    LIMIT_EXCEEDED = "limit_exceeded"
    INVALID_BODY = "invalid_body"
    SCHEMA_VALIDATION_FAILED = "schema_validation_failed"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    BODY_TOO_LARGE = "body_too_large"
    UNKNOWN_ROUTE = "unknown_route"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    UNKNOWN_JOB = "unknown_job"
    UNKNOWN_EVENT = "unknown_event"
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
    HOST_BUSY = "host_busy"
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
