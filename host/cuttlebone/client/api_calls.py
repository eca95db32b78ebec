"""Every request of the API as a value, with the reading of its answer: what all kinds of client share."""

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from cuttlebone.client.job_selection import JobSelection, PageSelection, selection_query
from cuttlebone.client.submit_options import JobOptions, SubmitOptions
from cuttlebone.http_types import (
    BatchAnswer,
    BlockList,
    BlockResource,
    DeliveryList,
    EventResource,
    JobCount,
    JobPage,
    JobResource,
    ModelList,
    SpecList,
)
from cuttlebone_abi import Envelope, Json

T = TypeVar("T")
Answer = TypeVar("Answer", bound=BaseModel)

WAIT_S_MAX: Final = 60
"""The longest that the host lets one request wait for the end of a job."""

ANSWER_BYTES_MAX: Final = 64 << 20

JOURNAL_BYTES_MAX: Final = 256 << 20
"""A journal keeps 64 MiB by itself, and as strings within JSON these may take twice as much."""

PAGE_JOBS_DEFAULT: Final = 50
PAGE_JOBS_MAX: Final = 200
"""The most jobs that the host puts on a page."""

COMPILE_S_MAX: Final = 60
"""The longest that the host takes to compile a block."""

_IN_BODY: Final = (
    "limits", "labels", "priority", "ttl_s", "expires_in_s", "record", "callback_url",
)  # fmt: skip
_ENVELOPE: Final[TypeAdapter[Envelope]] = TypeAdapter(Envelope)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request. `read` turns the body of a good answer into a value; it raises ValueError."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    body: Json = None
    content: bytes | None = None
    """A body that is no JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    waits_s: float = 0
    """How long the host may take before it answers, beyond the usual."""
    bytes_max: int = ANSWER_BYTES_MAX
    """What its answer may have."""
    repeatable: bool = True
    """Whether asking twice is as good as asking once."""


def submit(spec: str, value: Json, options: SubmitOptions) -> Call[JobResource]:
    """Ask for a job. It may be repeated: the host knows it again by its id or its key."""
    own_id = options.get("job_id")
    body = submission(spec, value, options)
    if own_id is not None:
        return Call("PUT", job_path(own_id), _answer(JobResource), body=body)
    key = options.get("idempotency_key") or uuid.uuid4().hex
    return Call(
        "POST",
        "/v1/jobs",
        _answer(JobResource),
        body=body,
        headers={"Idempotency-Key": key},
    )


def submission(spec: str, value: Json, options: JobOptions) -> dict[str, Json]:
    """Write the body of a submission."""
    body: dict[str, Json] = {"spec": spec, "input": value}
    for name in _IN_BODY:
        stated = options.get(name)
        if stated is not None and stated != {}:
            body[name] = dict(stated) if isinstance(stated, Mapping) else stated
    return body


def submit_batch(lines: Sequence[bytes]) -> Call[list[BatchAnswer]]:
    """Ask for many jobs. It may be repeated, as each line has a key."""

    def read(answer: bytes) -> list[BatchAnswer]:
        found = [_answer(BatchAnswer)(line) for line in answer.splitlines()]
        if len(found) != len(lines):
            raise ValueError("not each line is answered")
        return found

    return Call(
        "POST",
        "/v1/jobs/batch",
        read,
        content=b"\n".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
        waits_s=WAIT_S_MAX,
    )


def job(job_id: str, *, wait_s: float = 0) -> Call[JobResource]:
    """Ask how a job stands, once it is final or `wait_s` seconds have passed."""
    wait_s = min(wait_s, WAIT_S_MAX)
    return Call(
        "GET",
        job_path(job_id),
        _answer(JobResource),
        query={"wait": f"{wait_s:g}"} if wait_s else {},
        waits_s=wait_s,
    )


def jobs(chosen: PageSelection) -> Call[JobPage]:
    """Ask for a page of jobs, newest first."""
    query: dict[str, str | Sequence[str]] = {**selection_query(chosen)}
    query["limit"] = str(chosen.get("limit", PAGE_JOBS_DEFAULT))
    if chosen.get("envelopes"):
        query["include"] = "envelope"
    if chosen.get("count"):
        query["count"] = "true"
    cursor = chosen.get("cursor")
    if cursor is not None:
        query["cursor"] = cursor
    wait_s = min(chosen.get("wait_s", 0), WAIT_S_MAX)
    if wait_s:
        query["wait"] = f"{wait_s:g}"
    return Call("GET", "/v1/jobs", _answer(JobPage), query=query, waits_s=wait_s)


def cancel_all(chosen: JobSelection) -> Call[JobCount]:
    """Ask for the end of all jobs that are meant. Asked twice, the second answer counts none of them."""
    query = selection_query(chosen)
    return Call("POST", "/v1/jobs/cancel", _answer(JobCount), query=query, repeatable=False)


def forget_all(chosen: JobSelection) -> Call[JobCount]:
    """Ask that all jobs that are meant and have ended be wiped. Asked twice, it is as with `cancel_all`."""
    query = selection_query(chosen)
    return Call("POST", "/v1/jobs/forget", _answer(JobCount), query=query, repeatable=False)


def cancel(job_id: str) -> Call[JobResource]:
    """Ask for the end of a job."""
    return Call("POST", job_path(job_id, "/cancel"), _answer(JobResource))


def forget(job_id: str) -> Call[None]:
    """Ask that a job be wiped. Asked twice, the second answer would be that there is no such job."""
    return Call("DELETE", job_path(job_id), lambda _: None, repeatable=False)


def upload_block(wasm: bytes) -> Call[BlockResource]:
    """Bring a block."""
    return Call(
        "PUT",
        f"/v1/blocks/{hashlib.sha256(wasm).hexdigest()}",
        _answer(BlockResource),
        content=wasm,
        headers={"Content-Type": "application/wasm"},
        waits_s=COMPILE_S_MAX,
    )


def forget_block(digest: str) -> Call[None]:
    """Ask that a block be removed. Asked twice, the second answer would be that there is none."""
    digits = quote(digest.removeprefix("sha256:"), safe="")
    return Call("DELETE", f"/v1/blocks/{digits}", lambda _: None, repeatable=False)


def blocks() -> Call[BlockList]:
    """Ask which blocks there are."""
    return Call("GET", "/v1/blocks", _answer(BlockList))


def result(job_id: str) -> Call[Envelope]:
    """Ask for an envelope."""
    return Call("GET", job_path(job_id, "/result"), _ENVELOPE.validate_json)


def event(job_id: str, number: int) -> Call[EventResource]:
    """Ask for one event of a job."""
    return Call("GET", job_path(job_id, f"/events/{number}"), _answer(EventResource))


def deliveries(job_id: str) -> Call[DeliveryList]:
    """Ask what became of the callback of a job."""
    return Call("GET", job_path(job_id, "/deliveries"), _answer(DeliveryList))


def journal(job_id: str) -> Call[bytes]:
    """Ask for the recorded steps of a job, as one document."""
    return Call("GET", job_path(job_id, "/journal"), bytes, bytes_max=JOURNAL_BYTES_MAX)


def specs() -> Call[SpecList]:
    """Ask what can be submitted."""
    return Call("GET", "/v1/specs", _answer(SpecList))


def models() -> Call[ModelList]:
    """Ask what is served."""
    return Call("GET", "/v1/models", _answer(ModelList))


def job_path(job_id: str, rest: str = "") -> str:
    """Spell the path of a job. The id is quoted: one with a slash must not reach another route."""
    return f"/v1/jobs/{quote(job_id, safe='')}{rest}"


def _answer(kind: type[Answer]) -> Callable[[bytes], Answer]:
    """Read an answer of that kind, leaving aside fields of a newer host in all its parts."""
    return partial(kind.model_validate_json, extra="ignore")
