"""Jobs, specs and models, as the service knows them, made into resources and responses."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import Response
from pydantic import BaseModel

from cuttlebone.api.resources import (
    AccountingResource,
    BlockResource,
    GrantsResource,
    JobLinks,
    JobResource,
    JobSummary,
    ModelResource,
    QueueResource,
    SignatureResource,
    SpecLinks,
    SpecResource,
    UnusableSpec,
)
from cuttlebone.jobs.catalog import LoadedSpec
from cuttlebone.jobs.job import Job, QueuePlace
from cuttlebone.jobs.service import ModelStatus
from cuttlebone_abi import dump_json


class ExactJson(Response):
    """A JSON answer. Integers of any size are written as they are, which orjson refuses to do."""

    media_type = "application/json"

    def __init__(
        self, content: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(
            dump_json(content), status, {"Cache-Control": "no-store", **(headers or {})}
        )


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
        cancel_requested=job.cancel_requested,
        links=JobLinks(
            self=path,
            events=f"{path}/events",
            result=f"{path}/result",
            cancel=f"{path}/cancel",
            spec=spec_path,
        ),
    )


def job_resource(job: Job, place: QueuePlace | None) -> JobResource:
    """Show a job; `place` is where it stands if it is queued."""
    accounting = job.accounting
    return JobResource(
        **dict(job_summary(job)),
        queue=None if place is None else QueueResource.model_validate(place),
        progress=job.progress,
        limits=job.limits,
        accounting=None if accounting is None else AccountingResource.model_validate(accounting),
        envelope=job.envelope,
    )


def spec_resource(loaded: LoadedSpec) -> SpecResource:
    """Show a spec that can be submitted."""
    spec, block = loaded.spec, loaded.block
    return SpecResource(
        name=spec.name,
        description=spec.description,
        model=spec.model,
        block=BlockResource.model_validate(block),
        signature=SignatureResource(
            input=str(block.signature.input), output=str(block.signature.output)
        ),
        input_schema=loaded.input_schema,
        output_schema=loaded.output_schema,
        limits=loaded.limits,
        grants=GrantsResource.model_validate(spec.capabilities),
        data_policy=spec.data_policy,
        links=SpecLinks(self=f"/v1/specs/{spec.name}", jobs=f"/v1/jobs?spec={spec.name}"),
    )


def unusable_specs(faults: Mapping[Path, str]) -> tuple[UnusableSpec, ...]:
    """Show the spec files with a fault, by name."""
    return tuple(UnusableSpec(file=path.name, fault=faults[path]) for path in sorted(faults))


def model_resource(status: ModelStatus) -> ModelResource:
    """Show a model."""
    return ModelResource(
        role=status.role,
        state=status.state,
        reason=status.reason or None,
        file=status.file,
        context_tokens=status.context_tokens,
    )
