"""What a host shows of itself: every field of an answer is filled in, none left to its default."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from api.hosted import Api
from cuttlebone.api.resource_views import (
    block_resource,
    job_resource,
    model_resource,
    spec_resource,
)
from cuttlebone.generation.state import Phase
from cuttlebone.job.job import TENANT, Job, JobKey
from cuttlebone.service.answers import ModelStatus


def left_out(resource: BaseModel) -> Iterator[str]:
    """The fields that nobody filled in, at any depth."""
    kind = type(resource)
    for name in kind.model_fields:
        value = getattr(resource, name)
        if name not in resource.model_fields_set:
            yield f"{kind.__name__}.{name}"
        if isinstance(value, BaseModel) and value.__class__.__module__.startswith(
            "cuttlebone.http"
        ):
            yield from left_out(value)


@pytest.fixture(scope="module")
def finished(api: Api) -> Job:
    return api.host.jobs.get(JobKey(TENANT, api.ended(api.submit("echo"))["id"]))


def test_a_job_is_shown_whole(api: Api, finished: Job) -> None:
    assert not list(left_out(job_resource(api.host.jobs, finished)))


def test_a_job_that_waits_is_shown_whole(api: Api) -> None:
    job = api.host.jobs.get(JobKey(TENANT, api.submit("spin")["id"]))
    shown = job_resource(api.host.jobs, replace(job, started_at=datetime.now(UTC)))
    api.host.jobs.cancel(job.key)

    assert not list(left_out(shown))


def test_a_spec_and_its_block_are_shown_whole(api: Api) -> None:
    assert not list(left_out(spec_resource(api.host.specs.spec("echo"))))
    assert not [name for one in api.host.specs.blocks() for name in left_out(block_resource(one))]


def test_a_model_is_shown_whole() -> None:
    status = ModelStatus("small", Phase.READY, "", "small.gguf", 4096)

    assert not list(left_out(model_resource(status)))
