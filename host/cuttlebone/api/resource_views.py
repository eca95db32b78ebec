"""Jobs, specs and models, as the service knows them, made into resources and responses."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import iterate_in_threadpool

from cuttlebone.api.event_frames import PIECE_BYTES_MAX, pieces
from cuttlebone.errors import RETRY_SOON_S
from cuttlebone.http_types import (
    AccountingResource,
    AttemptResource,
    BlockLinks,
    BlockResource,
    DeliveryResource,
    EventResource,
    GrantsResource,
    JobLinks,
    JobResource,
    JobSummary,
    ModelResource,
    QueueResource,
    SignatureResource,
    SpecBlock,
    SpecLinks,
    SpecResource,
    UnusableSpec,
)
from cuttlebone.job.delivery import Delivery, DeliveryState
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import Job
from cuttlebone.service.answers import KnownBlock, KnownSpec, ModelStatus
from cuttlebone.service.job_service import JobService
from cuttlebone_abi import JobStatus, Signature, dump_json


class ExactJson(Response):
    """A JSON answer. Integers of any size are written as they are, which orjson refuses to do."""

    media_type = "application/json"

    def __init__(
        self, content: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(
            dump_json(content), status, {"Cache-Control": "no-store", **(headers or {})}
        )

    def unless_known(self, if_none_match: str | None) -> Response:
        """Answer with a tag of the content, and without the content to whoever has that tag already.

        It is not to be used without asking again, which `no-cache` says.
        """
        tag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
        self.headers.update({"ETag": tag, "Cache-Control": "private, no-cache"})
        known = {one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")}
        if not known & {tag, "*"}:
            return self
        kept = ("etag", "cache-control", "retry-after")
        headers = {name: self.headers[name] for name in kept if name in self.headers}
        return Response(status_code=304, headers=headers)


class PiecewiseJson(StreamingResponse):
    """A JSON answer that may be large: while it is sent, everybody else has a turn."""

    media_type = "application/json"

    def __init__(self, parts: Iterator[bytes], *, length_bytes: int | None = None) -> None:
        """`parts` are made in threads; `length_bytes` is what they have together, if that is known."""
        length = {} if length_bytes is None else {"Content-Length": str(length_bytes)}
        super().__init__(_with_turns(parts), headers={"Cache-Control": "no-store", **length})


async def _with_turns(parts: Iterator[bytes]) -> AsyncIterator[memoryview]:
    async for part in iterate_in_threadpool(_grouped(parts)):
        for piece in pieces(part):
            yield piece
            await asyncio.sleep(0)


def _grouped(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Put small parts together: each one that is asked for takes a thread."""
    group = bytearray()
    for part in parts:
        group += part
        if len(group) >= PIECE_BYTES_MAX:
            yield bytes(group)
            group.clear()
    yield bytes(group)


def event_document(event: JobEvent) -> bytes:
    """Show an event of a job. Its data may be large, and is passed on as it is kept."""
    shown = EventResource(number=event.number, kind=event.kind, at=event.at, data=None)
    return dump_json(shown).removesuffix(b"null}") + event.json + b"}"


def job_path(job_id: str) -> str:
    """Where a job is."""
    return f"/v1/jobs/{job_id}"


def job_summary(job: Job) -> JobSummary:
    """Show a job in a listing."""
    path, spec_path = job_path(job.id), f"/v1/specs/{job.spec}"
    return JobSummary(
        id=job.id,
        spec=job.spec,
        status=job.status,
        attempt=job.attempt,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        labels=dict(job.labels),
        priority=job.priority,
        ttl_s=job.ttl_s,
        expires_at=job.expires_at,
        record=job.recording,
        cancel_requested=job.cancel_requested,
        links=JobLinks(
            self=path,
            events=f"{path}/events",
            result=f"{path}/result",
            cancel=f"{path}/cancel",
            journal=f"{path}/journal",
            spec=spec_path,
        ),
    )


def job_resource(jobs: JobService, job: Job) -> JobResource:
    """Show a job, with where it stands while it is queued, and what became of its callback."""
    place = jobs.place(job) if job.status is JobStatus.QUEUED else None
    accounting = job.accounting
    return JobResource(
        **dict(job_summary(job)),
        queue=None if place is None else QueueResource.model_validate(place),
        progress=job.progress,
        callback_url=job.callback_url,
        callback_state=_callback_state(jobs, job),
        limits=job.limits,
        block_sha256=job.block_sha256,
        spec_sha256=job.spec_sha256,
        accounting=None if accounting is None else AccountingResource.model_validate(accounting),
        envelope=job.envelope,
    )


def _callback_state(jobs: JobService, job: Job) -> DeliveryState | None:
    if job.callback_url is None or not job.status.final:
        return None
    deliveries = jobs.deliveries(job.key)
    return deliveries[0].state if deliveries else None


def job_answer(
    jobs: JobService, job: Job, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> ExactJson:
    """Answer with a job as it stands, and say when to look again."""
    again = {} if job.status.final else {"Retry-After": str(RETRY_SOON_S)}
    return ExactJson(job_resource(jobs, job), status, {**again, **(headers or {})})


def delivery_resource(job: Job, delivery: Delivery) -> DeliveryResource:
    """Show what was told to the callback of a job."""
    return DeliveryResource(
        id=delivery.id,
        url=job.callback_url or "",
        state=delivery.state,
        created_at=delivery.created_at,
        next_attempt_at=delivery.next_attempt_at,
        attempts=tuple(AttemptResource.model_validate(one) for one in delivery.attempts),
    )


def spec_resource(spec: KnownSpec) -> SpecResource:
    """Show a spec that can be submitted."""
    return SpecResource(
        name=spec.name,
        description=spec.description,
        model=spec.model,
        block=SpecBlock.model_validate(spec.block),
        signature=_signature_resource(spec.block.signature),
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        limits=spec.limits,
        grants=GrantsResource(read=list(spec.read), follow_symlinks=spec.follow_symlinks),
        data_policy=spec.data_policy,
        links=SpecLinks(self=f"/v1/specs/{spec.name}", jobs=f"/v1/jobs?spec={spec.name}"),
    )


def block_resource(known: KnownBlock) -> BlockResource:
    """Show a block."""
    block = known.summary
    return BlockResource(
        digest=known.digest,
        size_bytes=block.size_bytes,
        abi_version=block.abi_version,
        signature=_signature_resource(block.signature),
        uploaded=known.uploaded,
        specs=list(known.specs),
        links=BlockLinks(self=f"/v1/blocks/{known.digits}"),
    )


def unusable_specs(faults: Mapping[Path, str]) -> list[UnusableSpec]:
    """Show the spec files with a fault, by name."""
    return [UnusableSpec(file=path.name, fault=faults[path]) for path in sorted(faults)]


def model_resource(status: ModelStatus) -> ModelResource:
    """Show a model."""
    return ModelResource(
        role=status.role,
        state=status.state,
        progress=status.progress,
        reason=status.reason or None,
        file=status.file,
        context_tokens=status.context_tokens,
        generations_max=status.generations_max,
        exact=status.exact,
    )


def _signature_resource(signature: Signature) -> SignatureResource:
    return SignatureResource(input=str(signature.input), output=str(signature.output))
