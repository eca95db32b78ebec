"""The route that submits many jobs at once, and answers each for itself."""

from collections.abc import Iterator
from functools import partial

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from cuttlebone.access import TokenScope
from cuttlebone.api.app_state import state_of
from cuttlebone.api.batch import accept_lines, check_lines
from cuttlebone.api.dependencies import AllQuotas, CurrentCaller, Jobs, allowed
from cuttlebone.api.openapi import batch_request, problems, text_answer
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.problems import as_caller_error, problem_of
from cuttlebone.api.request_body import LINES_MEDIA_TYPE, receive_lines
from cuttlebone.api.resource_views import job_summary
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import BatchAnswer
from cuttlebone.job.job import Admitted
from cuttlebone_abi import dump_json

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], dependencies=[allowed(TokenScope.SUBMIT)])


@router.post(
    "/batch",
    summary="Submit many jobs",
    response_class=Response,
    responses={
        200: text_answer(
            "Lines of JSON, each a `BatchAnswer`: one for each line, in the same order.",
            read_examples("batch_answers"),
            LINES_MEDIA_TYPE,
        ),
        **problems(
            ProblemCode.LIMIT_EXCEEDED,
            ProblemCode.BODY_TOO_LARGE,
            ProblemCode.BODY_TIMEOUT,
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            ProblemCode.INVALID_BODY,
        ),
    },
    openapi_extra=batch_request(LINES_MEDIA_TYPE),
)
async def submit_batch(
    request: Request, jobs: Jobs, quotas: AllQuotas, caller: CurrentCaller
) -> Response:
    """Queue the job of each line that is good. A line that is refused does the others no harm."""
    state = state_of(request.app)
    settings = state.host.settings
    lines = await receive_lines(request, bytes_max=settings.batch_body_bytes_max)
    check_lines(lines)
    accept = partial(accept_lines, line_bytes_max=settings.body_bytes_max)

    def answered() -> bytes:
        outcomes = accept(jobs, quotas, caller, lines)
        return b"".join(_lines(request, outcomes))

    return Response(
        await run_sync(answered, limiter=state.batch_threads),
        headers={"Cache-Control": "no-store"},
        media_type=LINES_MEDIA_TYPE,
    )


def _lines(request: Request, outcomes: list[Admitted | Exception]) -> Iterator[bytes]:
    for number, outcome in enumerate(outcomes, start=1):
        yield dump_json(_answer(request, number, outcome)) + b"\n"


def _answer(request: Request, number: int, outcome: Admitted | Exception) -> BatchAnswer:
    if isinstance(outcome, Admitted):
        job = job_summary(outcome.job)
        return BatchAnswer(line=number, status=202, replayed=outcome.replayed, job=job)
    error = as_caller_error(outcome, request)
    problem = problem_of(error, request.url.path)
    return BatchAnswer(
        line=number,
        status=problem.status,
        retry_after_s=error.retry_after_s,
        problem=problem,
    )
