"""A job with its journal as one JSON document, to be shown, kept as a regression test, and replayed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cuttlebone.errors import OperatorError
from cuttlebone.job.job import Job
from cuttlebone.job.journal import JournalEntry, digest
from cuttlebone.job_options import Limits, Recording
from cuttlebone.text.shape_faults import reason_of
from cuttlebone_abi import (
    Envelope,
    JobStatus,
    Json,
    MalformedMessage,
    dump_json,
    json_path,
    load_json,
)

_DOCUMENT = ConfigDict(frozen=True, extra="forbid")


class RecordedStep(BaseModel):
    """One call of `cf_init` or `cf_step`: the command that it returned, and what answered it."""

    model_config = _DOCUMENT

    step: int = Field(description="Number of the call; 1 is `cf_init`.")
    command: str = Field(description="Its `cmd`.")
    command_sha256: str = Field(description="Of the exact bytes of the command.")
    command_json: str | None = Field(None, description="These bytes as text, where they are kept.")
    event_sha256: str = Field(description="Of the exact bytes of the event.")
    event_json: str | None = Field(None, description="These bytes as text, where they are kept.")
    pieces: tuple[str, ...] = Field((), description="What `cf_on_token` was given, in order.")
    tokens_in: int = 0
    tokens_out: int = 0


class RecordedJob(BaseModel):
    """All that a replay of a job needs, besides its block and its files."""

    model_config = _DOCUMENT

    format: Literal[1] = Field(1, description="Version of this document.")
    id: str
    spec: str
    recording: Recording
    attempt: int
    status: JobStatus
    block_sha256: str | None = Field(
        None, description="Of the block that ran; null in jobs of hosts that did not note it."
    )
    spec_sha256: str | None = Field(
        None, description="Of the spec as it took effect when the job was accepted; null likewise."
    )
    input: Json
    limits: Limits = Field(description="The effective ones.")
    steps: tuple[RecordedStep, ...]
    envelope: Envelope | None = Field(description="How the job ended; null until it has.")

    def entries(self) -> tuple[JournalEntry, ...]:
        """The steps as the journal has them."""
        return tuple(_entry(step) for step in self.steps)


def recorded_job(job: Job, entries: Sequence[JournalEntry]) -> RecordedJob:
    """Make the document of a job."""
    return RecordedJob(
        id=job.id,
        spec=job.spec,
        recording=job.recording,
        attempt=job.attempt,
        status=job.status,
        block_sha256=job.block_sha256,
        spec_sha256=job.spec_sha256,
        input=load_json(job.input),
        limits=job.limits,
        steps=tuple(_step(entry) for entry in entries),
        envelope=job.envelope,
    )


def recorded_job_parts(job: Job, entries: Iterable[JournalEntry]) -> Iterator[bytes]:
    """Write the document of a job in parts, so that no more of its steps than one is held at a time.

    Together they are what `recorded_job` says. `entries` may raise: then there is no end.
    """
    empty = dump_json(recorded_job(job, ()))
    end = b'],"envelope":' + dump_json(job.envelope) + b"}"
    yield empty.removesuffix(end)
    between = b""
    for entry in entries:
        yield between + dump_json(_step(entry))
        between = b","
    yield end


def read_recorded_job(data: bytes, source: str) -> RecordedJob:
    """Read the document back; raise OperatorError that names `source` and what is wrong in it."""
    try:
        recorded = RecordedJob.model_validate(load_json(data))
    except MalformedMessage as error:
        raise OperatorError(f"{source}: {error.reason}; was it cut?") from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise OperatorError(
            f"{source} is no recorded job (`cuttlebone job export` writes one): "
            f"{json_path(fault['loc'])}: {reason_of(fault)}"
        ) from None
    _check(recorded, source)
    return recorded


def _check(recorded: RecordedJob, source: str) -> None:
    """Refuse a document that was edited by hand without its digests: it would blame the block."""
    for entry in recorded.entries():
        whole = ((entry.reply, entry.command_sha256), (entry.event, entry.event_sha256))
        if any(data is not None and digest(data) != stated for data, stated in whole):
            raise OperatorError(f"{source}: step {entry.step} does not have its stated digest")


def _step(entry: JournalEntry) -> RecordedStep:
    return RecordedStep(
        step=entry.step,
        command=entry.command,
        command_sha256=entry.command_sha256,
        command_json=None if entry.reply is None else entry.reply.decode(),
        event_sha256=entry.event_sha256,
        event_json=None if entry.event is None else entry.event.decode(),
        pieces=entry.pieces,
        tokens_in=entry.tokens_in,
        tokens_out=entry.tokens_out,
    )


def _entry(step: RecordedStep) -> JournalEntry:
    return JournalEntry(
        step=step.step,
        command=step.command,
        command_sha256=step.command_sha256,
        event_sha256=step.event_sha256,
        event=None if step.event_json is None else step.event_json.encode(),
        reply=None if step.command_json is None else step.command_json.encode(),
        pieces=step.pieces,
        tokens_in=step.tokens_in,
        tokens_out=step.tokens_out,
    )
