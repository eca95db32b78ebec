"""The error codes of an envelope and of the `error` event, and the states of a job."""

from enum import StrEnum


class ErrorCode(StrEnum):
    """Why a command or a job failed. The set may grow: clients must accept codes unknown to them."""

    MODEL_LOAD_FAILED = "model_load_failed"
    """The model could not be loaded or served."""
    CAPABILITY_DENIED = "capability_denied"
    """A path, URL, handle or model that the job was not given."""
    NOT_FOUND = "not_found"
    """A file that is missing, said only where its nearest existing parent is granted."""
    SCHEMA_VALIDATION_FAILED = "schema_validation_failed"
    """An input or a result that does not have its declared shape."""
    WASM_TRAP = "wasm_trap"
    """A trap, a wrong export, or a malformed module, descriptor or command."""
    TIMEOUT = "timeout"
    """The time budget of the job is spent."""
    CANCELLED = "cancelled"
    """Cancelled by request."""
    UNSUPPORTED = "unsupported"
    """A command or field that this host or model does not offer."""
    LIMIT_EXCEEDED = "limit_exceeded"
    """Fuel, memory, steps, tokens, handles, events or bytes; the message names limit and value."""
    INVALID_ARGUMENT = "invalid_argument"
    """A command whose values make no sense."""
    NOT_TEXT = "not_text"
    """A byte that is not UTF-8 where text was asked for."""
    INPUT_CHANGED = "input_changed"
    """A file, or the block or spec of the job, is not what it was when it was opened or accepted."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The prompt leaves no room for one token in the context of the model."""
    INVALID_GRAMMAR = "invalid_grammar"
    """A `json_schema` or `grammar` that cannot be compiled."""
    INFER_FAILED = "infer_failed"
    """The backend broke while generating."""
    INTERNAL = "internal"
    """A fault of the host, logged under the reference that the message repeats."""


class JobStatus(StrEnum):
    """Where a job stands. The last three are final and never change."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the job has ended, so that its envelope exists."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)
