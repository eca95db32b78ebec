"""Routes over many jobs: list those that are meant, cancel them, forget them."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from cuttlebone.access import TokenScope
from cuttlebone.api.cursors import read_cursor
from cuttlebone.api.dependencies import (
    AllQuotas,
    AllSubscribers,
    CurrentCaller,
    Jobs,
    SeenTenant,
    allowed,
)
from cuttlebone.api.job_pages import job_page
from cuttlebone.api.job_selection import SelectedJobs, StatedJobs
from cuttlebone.api.long_poll import WAIT_S_MAX, until_none_live
from cuttlebone.api.openapi import answer, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import ExactJson
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.http_types import JobCount, JobPage
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.job_service import JobService

JOBS_LISTED_DEFAULT: Final = 50
JOBS_LISTED_MAX: Final = 200

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "",
    summary="List jobs",
    response_model=JobPage,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer(
            "Some jobs, newest first: in the order in which they were accepted, the last one first.",
            read_examples("job_page"),
        ),
        **problems(ProblemCode.BAD_REQUEST),
    },
)
async def list_jobs(
    request: Request,
    jobs: Jobs,
    subscribers: AllSubscribers,
    quotas: AllQuotas,
    caller: CurrentCaller,
    tenant: SeenTenant,
    wanted: SelectedJobs,
    include: Annotated[
        Literal["envelope"] | None,
        Query(description="Show how each job ended; a page then ends after 4 MiB of envelopes."),
    ] = None,
    count: Annotated[bool, Query(description="Tell how many jobs there are on all pages.")] = False,
    limit: Annotated[int, Query(ge=1, le=JOBS_LISTED_MAX)] = JOBS_LISTED_DEFAULT,
    cursor: Annotated[
        str | None, Query(description="From the page before.", max_length=1024)
    ] = None,
    wait: Annotated[
        float,
        Query(
            ge=0,
            le=WAIT_S_MAX,
            allow_inf_nan=False,
            description="Seconds to wait until none of the jobs that are meant is queued or running.",
        ),
    ] = 0,
) -> Response:
    """Show jobs without what may be large about them: progress, and envelope unless it is asked for."""
    pending: int | None = None
    if wait > 0:
        if wanted.statuses or cursor is not None:
            raise CallerError(
                ProblemCode.BAD_REQUEST,
                "`wait` in the query: it is for the end of all jobs that are meant, and shows their "
                "first page; leave out `status` and `cursor`",
            )
        with quotas.stream(caller):
            pending = await until_none_live(request, jobs, subscribers, wanted, wait)
    before = None if cursor is None else read_cursor(jobs.secret, tenant, cursor)
    page = replace(wanted, limit=limit, before=before)
    return await run_in_threadpool(
        _listed, jobs, wanted, page, envelopes=include is not None, count=count, pending=pending
    )


def _listed(
    jobs: JobService,
    wanted: JobFilter,
    page: JobFilter,
    *,
    envelopes: bool,
    count: bool,
    pending: int | None,
) -> Response:
    counted = {"count": jobs.count(wanted) if count else None, "pending": pending}
    return ExactJson(job_page(jobs, page, envelopes=envelopes).model_copy(update=counted))


@router.post(
    "/cancel",
    status_code=202,
    summary="Cancel jobs",
    response_model=JobCount,
    dependencies=[allowed(TokenScope.CANCEL)],
    responses={
        202: answer("Cancelling.", read_examples("job_count")),
        **problems(ProblemCode.STORE_UNAVAILABLE),
    },
)
def cancel_jobs(jobs: Jobs, wanted: StatedJobs) -> Response:
    """Ask for the end of all jobs that are meant and have not ended. Repeating it does no harm."""
    return ExactJson(JobCount(jobs=jobs.cancel_all(wanted)), 202)


@router.post(
    "/forget",
    summary="Forget jobs",
    response_model=JobCount,
    dependencies=[allowed(TokenScope.CANCEL)],
    responses={
        200: answer("They are wiped.", read_examples("job_count")),
        **problems(ProblemCode.STORE_UNAVAILABLE),
    },
)
def forget_jobs(jobs: Jobs, wanted: StatedJobs) -> Response:
    """Wipe all jobs that are meant and have ended. Repeating it does no harm."""
    return ExactJson(JobCount(jobs=jobs.forget_all(wanted)))
