"""The routes of a job's events: server-sent events that can be resumed and that end, and one event."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from cuttlebone.access import TokenScope
from cuttlebone.api.dependencies import ExistingJob, Jobs, Status, ToThisJob, allowed
from cuttlebone.api.event_stream import event_stream
from cuttlebone.api.openapi import answer, event_answer, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import PiecewiseJson, event_document, job_path, job_resource
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import EventResource

EVENT_NUMBER_MAX: Final = (1 << 63) - 1


_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # else nginx holds events back
}

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], dependencies=[allowed(TokenScope.READ)])


@router.get(
    "/{job_id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,  # of no type, so that the schema below is all that is said
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
    large: Annotated[
        Literal["link"] | None,
        Query(description="Send events of more than 256 KiB as links, not whole."),
    ] = None,
) -> StreamingResponse:
    """Send a snapshot of the job, then its events; end after the result."""
    snapshot = await run_in_threadpool(job_resource, jobs, job)
    stream = event_stream(
        subscription,
        snapshot,
        after if last_event_id is None else last_event_id,
        status.metrics,
        links_at=None if large is None else f"{job_path(job.id)}/events",
    )
    # Not the framework's own response, which makes the bytes of an event for each reader.
    return StreamingResponse(stream, headers=_HEADERS, media_type="text/event-stream")


@router.get(
    "/{job_id}/events/{number}",
    summary="Show one event of a job",
    response_model=EventResource,
    responses={
        200: answer("The event.", read_examples("event")),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.UNKNOWN_EVENT, ProblemCode.BAD_REQUEST),
    },
)
def show_event(
    job: ExistingJob,
    jobs: Jobs,
    number: Annotated[int, Path(ge=1, le=EVENT_NUMBER_MAX, description="Of the event.")],
) -> StreamingResponse:
    """Answer with an event as it is kept, however large it is."""
    document = event_document(jobs.event(job.key, number))
    return PiecewiseJson(iter((document,)), length_bytes=len(document))
