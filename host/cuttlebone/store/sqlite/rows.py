"""Jobs, events and journal entries as rows, and back."""

import sqlite3
import zlib
from typing import Any, Final

from pydantic import TypeAdapter

from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Accounting, Job, JobKey, JobStatusRow
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone.store.moments import microseconds, moment_of
from cuttlebone_abi import JobStatus, Json, decode_envelope, dump_json, load_json

_ACCOUNTING: Final = TypeAdapter(Accounting)


COLUMNS: Final = (
    "id", "tenant", "spec", "request_sha256", "block_sha256", "spec_sha256", "input", "limits", "labels", "priority",
    "status", "created_us", "expires_us", "ttl_s", "recording", "callback_url", "events",
)  # fmt: skip
"""Those that `row_of` fills: all that is known before the place in the queue is."""


def row_of(job: Job) -> dict[str, Any]:
    """The columns of a job that is new."""
    return {
        "id": job.id,
        "tenant": job.tenant,
        "spec": job.spec,
        "request_sha256": job.request_sha256,
        "block_sha256": job.block_sha256,
        "spec_sha256": job.spec_sha256,
        "input": job.input,
        "limits": dump_json(job.limits.model_dump()),
        "labels": dump_json(dict(job.labels)),
        "priority": job.priority,
        "status": job.status,
        "created_us": microseconds(job.created_at),
        "expires_us": microseconds(job.expires_at),
        "ttl_s": job.ttl_s,
        "recording": job.recording,
        "callback_url": job.callback_url,
        "events": 1,  # the one that says that it waits
    }


def job_of(row: sqlite3.Row) -> Job:
    """The job that a row of `jobs` holds."""
    return Job(
        id=row["id"],
        spec=row["spec"],
        input=row["input"],
        limits=Limits.model_validate(load_json(row["limits"])),
        labels=load_json(row["labels"]),
        created_at=moment_of(row["created_us"]),
        status=JobStatus(row["status"]),
        attempt=row["attempt"],
        started_at=moment_of(row["started_us"]),
        finished_at=moment_of(row["finished_us"]),
        progress=_optional(row["progress"]),
        cancel_requested=bool(row["cancel_requested"]),
        envelope=None if row["envelope"] is None else decode_envelope(row["envelope"]),
        accounting=_accounting(row["accounting"]),
        tenant=row["tenant"],
        priority=Priority(row["priority"]),
        ttl_s=row["ttl_s"],
        expires_at=moment_of(row["expires_us"]),
        recording=Recording(row["recording"]),
        callback_url=row["callback_url"],
        crashes=row["crashes"],
        owner=row["owner"] or "",
        block_sha256=row["block_sha256"],
        spec_sha256=row["spec_sha256"],
        request_sha256=row["request_sha256"],
        number=row["number"],
    )


STATUS_COLUMNS: Final = (
    "tenant, id, spec, spec_sha256, status, attempt, owner, cancel_requested, events"
)
"""Those that `status_row_of` reads: none of them is behind what may be large."""


def status_row_of(row: sqlite3.Row) -> JobStatusRow:
    """Where the job of a row of `jobs` stands."""
    return JobStatusRow(
        key=JobKey(row["tenant"], row["id"]),
        spec=row["spec"],
        spec_sha256=row["spec_sha256"],
        status=JobStatus(row["status"]),
        attempt=row["attempt"],
        owner=row["owner"] or "",
        cancel_requested=bool(row["cancel_requested"]),
        last_event=row["events"],
    )


def accounting_bytes(accounting: Accounting | None) -> bytes | None:
    """How accounting is kept."""
    return None if accounting is None else _ACCOUNTING.dump_json(accounting)


def event_of(row: sqlite3.Row) -> JobEvent:
    """The event that a row of `job_events` holds."""
    at = moment_of(row["at_us"])
    return JobEvent(row["number"], EventKind(row["kind"]), row["data"], at)


def _optional(data: bytes | None) -> Json:
    return None if data is None else load_json(data)


def _accounting(data: bytes | None) -> Accounting | None:
    return None if data is None else _ACCOUNTING.validate_json(data)


def entry_row(entry: JournalEntry) -> dict[str, Any]:
    """The columns of a journal entry, but for its job."""
    return {
        "step": entry.step,
        "command": entry.command,
        "command_sha256": entry.command_sha256,
        "event_sha256": entry.event_sha256,
        "event": _compressed(entry.event),
        "reply": _compressed(entry.reply),
        "pieces": dump_json(list(entry.pieces)),
        "tokens_in": entry.tokens_in,
        "tokens_out": entry.tokens_out,
    }


def entry_of(row: sqlite3.Row) -> JournalEntry:
    """The journal entry that a row of `journal` holds."""
    return JournalEntry(
        step=row["step"],
        command=row["command"],
        command_sha256=row["command_sha256"],
        event_sha256=row["event_sha256"],
        event=_decompressed(row["event"]),
        reply=_decompressed(row["reply"]),
        pieces=tuple(load_json(row["pieces"])),
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
    )


def part_row(part: JournalPart) -> dict[str, Any]:
    """The columns of a part of a journal entry, but for its job."""
    return {
        "step": part.step,
        "number": part.number,
        "command_sha256": part.command_sha256,
        "result": zlib.compress(part.result),
    }


def part_of(row: sqlite3.Row) -> JournalPart:
    """The part that a row of `journal_parts` holds."""
    return JournalPart(
        step=row["step"],
        number=row["number"],
        command_sha256=row["command_sha256"],
        result=zlib.decompress(row["result"]),
    )


def _compressed(data: bytes | None) -> bytes | None:
    return None if data is None else zlib.compress(data)


def _decompressed(data: bytes | None) -> bytes | None:
    return None if data is None else zlib.decompress(data)
