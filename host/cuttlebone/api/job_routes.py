"""Routes of one job: show, wait, cancel, result, journal, forget."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from cuttlebone.access import TokenScope
from cuttlebone.api.dependencies import (
    AllQuotas,
    AllSubscribers,
    CurrentCaller,
    ExistingJob,
    Jobs,
    JournalSlot,
    allowed,
)
from cuttlebone.api.long_poll import WAIT_S_MAX, until_final
from cuttlebone.api.openapi import answer, nothing, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import ExactJson, PiecewiseJson, job_answer, job_path
from cuttlebone.errors import RETRY_SOON_S, CallerError, ProblemCode
from cuttlebone.http_types import JobResource
from cuttlebone.job.recorded_job import RecordedJob
from cuttlebone_abi import Envelope

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "/{job_id}",
    summary="Show a job, or wait for its end",
    response_model=JobResource,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer(
            "The job as it stands.", read_examples("jobs"), headers=("Retry-After", "ETag")
        ),
        304: nothing("The job stands as it did.", headers=("ETag",)),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.BAD_REQUEST),
    },
)
async def show_job(
    request: Request,
    job: ExistingJob,
    jobs: Jobs,
    subscribers: AllSubscribers,
    quotas: AllQuotas,
    caller: CurrentCaller,
    wait: Annotated[
        float,
        Query(
            ge=0,
            le=WAIT_S_MAX,
            allow_inf_nan=False,
            description="Seconds to wait for the job to end; the answer is the job either way.",
        ),
    ] = 0,
    if_none_match: Annotated[
        str | None,
        Header(
            description="`ETag` of an answer before: the job is sent only if it has changed.",
            max_length=1024,
        ),
    ] = None,
) -> Response:
    """Answer at once, or as soon as the job ends within `wait` seconds."""
    if wait > 0:
        with quotas.stream(caller), subscribers.subscribe(jobs, job) as subscription:
            job = await until_final(request, jobs, subscription, job.key, wait)
    shown = await run_in_threadpool(job_answer, jobs, job)
    return shown.unless_known(if_none_match)


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    response_model=JobResource,
    dependencies=[allowed(TokenScope.CANCEL)],
    responses={
        202: answer("Cancelling.", read_examples("jobs", "running"), headers=("Retry-After",)),
        200: answer("The job had ended already.", read_examples("jobs", "completed"), JobResource),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.STORE_UNAVAILABLE),
    },
)
def cancel_job(job: ExistingJob, jobs: Jobs) -> Response:
    """Ask for the end of a job. Repeating it does no harm."""
    if job.status.final:
        return job_answer(jobs, job)
    return job_answer(jobs, jobs.cancel(job.key), status=202)


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Forget a job",
    response_class=Response,
    dependencies=[allowed(TokenScope.CANCEL)],
    responses={
        204: nothing("It is wiped: input, events, journal and envelope."),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.NOT_FINAL, ProblemCode.STORE_UNAVAILABLE),
    },
)
def forget_job(job: ExistingJob, jobs: Jobs) -> Response:
    """Wipe a job that has ended."""
    jobs.forget(job.key)
    return Response(status_code=204, headers={"Cache-Control": "no-store"})


@router.get(
    "/{job_id}/result",
    summary="Show the envelope of a job",
    response_model=Envelope,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer("The envelope alone.", read_examples("envelopes")),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.NOT_FINAL),
    },
)
def show_result(job: ExistingJob) -> Response:
    """Answer with exactly the envelope of the guest ABI."""
    if job.envelope is None:
        raise CallerError(
            ProblemCode.NOT_FINAL,
            f"the job is {job.status}; wait for it with GET {job_path(job.id)}?wait=30",
            retry_after_s=RETRY_SOON_S,
        )
    return ExactJson(job.envelope)


@router.get(
    "/{job_id}/journal",
    summary="Show the recorded steps of a job",
    response_model=RecordedJob,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer("The steps so far.", read_examples("journal")),
        **problems(ProblemCode.UNKNOWN_JOB, ProblemCode.HOST_BUSY),
    },
)
def show_journal(job: ExistingJob, jobs: Jobs, _slot: JournalSlot) -> Response:
    """Show what the block was told, whole or as digests: what a replay needs."""
    return PiecewiseJson(jobs.journal(job.key))
