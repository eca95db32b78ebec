"""Routes that submit jobs: under an id of the host, or under one that the client makes."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Response

from cuttlebone.access import Caller, Quotas, Scope
from cuttlebone.api.bodies import SubmissionBody
from cuttlebone.api.dependencies import (
    AllQuotas,
    CurrentCaller,
    OwnJobId,
    Service,
    Submitted,
    allowed,
)
from cuttlebone.api.documents import answer, problems, submission_request
from cuttlebone.api.examples import JOBS
from cuttlebone.api.resources import JobResource
from cuttlebone.api.views import job_answer, job_path
from cuttlebone.errors import ProblemCode
from cuttlebone.jobs.service import JobService

KEY_CHARS_MAX: Final = 255

_REFUSALS: Final = (
    ProblemCode.BAD_REQUEST,
    ProblemCode.MALFORMED_JSON,
    ProblemCode.BODY_TOO_LARGE,
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
    {"queued": JOBS["queued"]},
    headers=("Location", "Retry-After", "Idempotent-Replayed"),
    links=("show_job", "follow_job", "show_result", "cancel_job", "show_journal", "forget_job"),
)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], dependencies=[allowed(Scope.SUBMIT)])


@router.post(
    "",
    status_code=202,
    summary="Submit a job",
    response_model=JobResource,
    responses={202: _ACCEPTED, **problems(*_REFUSALS, ProblemCode.IDEMPOTENCY_MISMATCH)},
    openapi_extra=submission_request(),
)
def submit_job(
    body: Submitted,
    service: Service,
    caller: CurrentCaller,
    quotas: AllQuotas,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="The same key with the same body is the same job.",
            min_length=1,
            max_length=KEY_CHARS_MAX,
            pattern="^[!-~]+$",
        ),
    ] = None,
) -> Response:
    """Check the input against the spec and queue the job."""
    return _accepted(service, caller, quotas, body, idempotency_key=idempotency_key)


@router.put(
    "/{job_id}",
    status_code=202,
    summary="Submit a job under an id of one's own",
    response_model=JobResource,
    responses={202: _ACCEPTED, **problems(*_REFUSALS, ProblemCode.JOB_EXISTS)},
    openapi_extra=submission_request(),
)
def put_job(
    job_id: OwnJobId,
    body: Submitted,
    service: Service,
    caller: CurrentCaller,
    quotas: AllQuotas,
) -> Response:
    """Do as a submission does. The same body again is the same job, so it may be repeated."""
    return _accepted(service, caller, quotas, body, job_id=job_id)


def _accepted(
    service: JobService,
    caller: Caller,
    quotas: Quotas,
    body: SubmissionBody,
    *,
    job_id: str | None = None,
    idempotency_key: str | None = None,
) -> Response:
    quotas.check_stored(caller, service.stored_bytes)
    accepted = service.accept(
        body.submission(tenant=caller.tenant, job_id=job_id),
        idempotency_key=idempotency_key,
        tenant_waiting_max=quotas.waiting_max(caller),
    )
    headers = {"Location": job_path(accepted.job.id)}
    if accepted.replayed:
        headers["Idempotent-Replayed"] = "true"
    return job_answer(service, accepted.job, status=202, headers=headers)
