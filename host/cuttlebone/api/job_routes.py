"""Routes of jobs: submit, show, wait, list, cancel, result."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from cuttlebone.api.bodies import LABEL_KEY, LABEL_VALUE_CHARS_MAX
from cuttlebone.api.cursors import cursor_after, read_cursor
from cuttlebone.api.dependencies import AllSubscribers, ExistingJob, JobId, Service, Submitted
from cuttlebone.api.documents import answer, problems, submission_request
from cuttlebone.api.examples import ENVELOPES, JOB_PAGE, JOBS
from cuttlebone.api.following import until_final
from cuttlebone.api.resources import JobPage, JobResource
from cuttlebone.api.views import ExactJson, job_path, job_resource, job_summary
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.jobs.job import Job, JobFilter
from cuttlebone.jobs.service import JobService
from cuttlebone_abi import Envelope, JobStatus

RETRY_AFTER_S: Final = 1
"""When to look again at a job that has not ended."""
WAIT_S_MAX: Final = 60
JOBS_LISTED_DEFAULT: Final = 50
JOBS_LISTED_MAX: Final = 200

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post(
    "",
    status_code=202,
    summary="Submit a job",
    response_model=JobResource,
    responses={
        202: answer(
            "Accepted.",
            {"queued": JOBS["queued"]},
            headers=("Location", "Retry-After"),
            links=("show_job", "follow_job", "show_result", "cancel_job"),
        ),
        **problems(
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
        ),
    },
    openapi_extra=submission_request(),
)
def submit_job(body: Submitted, service: Service) -> Response:
    """Check the input against the spec and queue the job."""
    job = service.submit(body.submission())
    return _shown(service, job, status=202, headers={"Location": job_path(job.id)})


@router.get(
    "",
    summary="List jobs",
    response_model=JobPage,
    responses={
        200: answer("Some jobs, newest first.", {"page": JOB_PAGE}),
        **problems(ProblemCode.BAD_REQUEST),
    },
)
def list_jobs(
    service: Service,
    status: Annotated[JobStatus | None, Query(description="Only jobs that stand there.")] = None,
    spec: Annotated[
        str | None, Query(description="Only jobs of this spec.", max_length=256)
    ] = None,
    label: Annotated[
        str | None,
        Query(
            description="Only jobs with this label, as `key=value`.",
            pattern=f"^{LABEL_KEY}=",
            max_length=65 + LABEL_VALUE_CHARS_MAX,
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=JOBS_LISTED_MAX)] = JOBS_LISTED_DEFAULT,
    cursor: Annotated[
        str | None, Query(description="From the page before.", max_length=1024)
    ] = None,
) -> Response:
    """Show jobs without what may be large about them: progress and envelope."""
    key, _, value = (label or "").partition("=")
    found = service.find(
        JobFilter(
            status=status,
            spec=spec,
            label=(key, value) if label else None,
            limit=limit + 1,  # one more tells whether there is a next page
            before=None if cursor is None else read_cursor(cursor),
        )
    )
    page = found[:limit]
    return ExactJson(
        JobPage(
            jobs=tuple(job_summary(job) for job in page),
            cursor=cursor_after(page[-1]) if len(found) > limit else None,
        )
    )


@router.get(
    "/{job_id}",
    summary="Show a job, or wait for its end",
    response_model=JobResource,
    responses={
        200: answer("The job as it stands.", JOBS, headers=("Retry-After",)),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.BAD_REQUEST),
    },
)
async def show_job(
    request: Request,
    job: ExistingJob,
    service: Service,
    subscribers: AllSubscribers,
    wait: Annotated[
        float,
        Query(
            ge=0,
            le=WAIT_S_MAX,
            allow_inf_nan=False,
            description="Seconds to wait for the job to end; the answer is the job either way.",
        ),
    ] = 0,
) -> Response:
    """Answer at once, or as soon as the job ends within `wait` seconds."""
    if wait > 0:
        with subscribers.subscribe(service, job.id) as subscription:
            job = await until_final(request, service, subscription, job.id, wait)
    return _shown(service, job)


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    response_model=JobResource,
    responses={
        202: answer("Cancelling.", {"running": JOBS["running"]}, headers=("Retry-After",)),
        200: answer("The job had ended already.", {"completed": JOBS["completed"]}, JobResource),
        **problems(ProblemCode.UNKNOWN_JOB),
    },
)
def cancel_job(job: ExistingJob, service: Service) -> Response:
    """Ask for the end of a job. Repeating it does no harm."""
    if job.status.final:
        return _shown(service, job)
    return _shown(service, service.cancel(job.id), status=202)


@router.get(
    "/{job_id}/result",
    summary="Show the envelope of a job",
    response_model=Envelope,
    responses={
        200: answer("The envelope alone.", ENVELOPES),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.NOT_FINAL),
    },
)
def show_result(job_id: JobId, service: Service) -> Response:
    """Answer with exactly the envelope of the guest ABI."""
    job = service.get(job_id)
    if job.envelope is None:
        raise CallerError(
            ProblemCode.NOT_FINAL,
            f"the job is {job.status}; wait for it with GET {job_path(job_id)}?wait=30",
            retry_after_s=RETRY_AFTER_S,
        )
    return ExactJson(job.envelope)


def _shown(
    service: JobService, job: Job, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    again = {} if job.status.final else {"Retry-After": str(RETRY_AFTER_S)}
    place = service.place(job.id) if job.status is JobStatus.QUEUED else None
    return ExactJson(job_resource(job, place), status, {**again, **(headers or {})})
