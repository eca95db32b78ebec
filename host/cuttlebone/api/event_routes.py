"""The route of a job's events: server-sent events that can be resumed and that end."""

from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from cuttlebone.access import TokenScope
from cuttlebone.api.dependencies import ExistingJob, Jobs, Status, ToThisJob, allowed
from cuttlebone.api.event_stream import event_stream
from cuttlebone.api.openapi import event_answer, problems
from cuttlebone.api.resource_views import job_resource
from cuttlebone.errors import ProblemCode

EVENT_NUMBER_MAX: Final = (1 << 63) - 1

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "/{job_id}/events",
    summary="Follow a job",
    response_class=EventSourceResponse,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: event_answer(),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.BAD_REQUEST),
    },
)
async def follow_job(
    job: ExistingJob,
    jobs: Jobs,
    status: Status,
    subscription: ToThisJob,
    after: Annotated[
        int, Query(ge=0, le=EVENT_NUMBER_MAX, description="Only events with higher numbers.")
    ] = 0,
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=EVENT_NUMBER_MAX, description="As `after`, and goes before it."),
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Send a snapshot of the job, then its events; end after the result."""
    snapshot = await run_in_threadpool(job_resource, jobs, job)
    start = after if last_event_id is None else last_event_id
    async for event in event_stream(jobs, subscription, snapshot, job.key, start, status.metrics):
        yield event
