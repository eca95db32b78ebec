"""Routes that submit jobs: under an id of the host, or under one that the client makes."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Request, Response

from cuttlebone.access import TokenScope
from cuttlebone.api.app_state import state_of
from cuttlebone.api.dependencies import (
    OwnJobId,
    Submitted,
    allowed,
    caller_of,
)
from cuttlebone.api.openapi import answer, problems, submission_request
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.submission_body import KEY, KEY_CHARS_MAX
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import JobResource

_REFUSALS: Final = (
    ProblemCode.BAD_REQUEST,
    ProblemCode.MALFORMED_JSON,
    ProblemCode.LIMIT_EXCEEDED,
    ProblemCode.BODY_TOO_LARGE,
    ProblemCode.BODY_TIMEOUT,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    ProblemCode.INVALID_BODY,
    ProblemCode.UNKNOWN_SPEC,
    ProblemCode.SPEC_UNUSABLE,
    ProblemCode.SCHEMA_VALIDATION_FAILED,
    ProblemCode.QUEUE_FULL,
    ProblemCode.STOPPING,
    ProblemCode.MISCONFIGURED,
    ProblemCode.STORE_UNAVAILABLE,
)
_ACCEPTED: Final = answer(
    "Accepted, now or by the same request before.",
    read_examples("jobs", "queued"),
    headers=("Location", "Retry-After", "Idempotent-Replayed"),
    links=("show_job", "follow_job", "show_result", "cancel_job", "show_journal", "forget_job"),
)

# What these routes ask for they read from the request: a host accepts jobs by the thousand, and each
# declared dependency would cost as much as checking the input.
router = APIRouter(prefix="/v1/jobs", tags=["jobs"], dependencies=[allowed(TokenScope.SUBMIT)])


@router.post(
    "",
    status_code=202,
    summary="Submit a job",
    response_model=JobResource,
    responses={202: _ACCEPTED, **problems(*_REFUSALS, ProblemCode.IDEMPOTENCY_MISMATCH)},
    openapi_extra=submission_request(),
)
async def submit_job(
    request: Request,
    body: Submitted,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="The same key with the same body is the same job.",
            min_length=1,
            max_length=KEY_CHARS_MAX,
            pattern=KEY,
        ),
    ] = None,
) -> Response:
    """Check the input against the spec and queue the job."""
    return await state_of(request.app).batcher.accept(
        caller_of(request), body, idempotency_key=idempotency_key
    )


@router.put(
    "/{job_id}",
    status_code=202,
    summary="Submit a job under an id of one's own",
    response_model=JobResource,
    responses={202: _ACCEPTED, **problems(*_REFUSALS, ProblemCode.JOB_EXISTS)},
    openapi_extra=submission_request(),
)
async def put_job(
    job_id: OwnJobId,
    request: Request,
    body: Submitted,
) -> Response:
    """Do as a submission does. The same body again is the same job, so it may be repeated."""
    return await state_of(request.app).batcher.accept(caller_of(request), body, job_id=job_id)
