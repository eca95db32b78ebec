"""Routes for operators: the numbers of the host, and what became of callbacks."""

from typing import Final

from fastapi import APIRouter, Response

from cuttlebone.access import TokenScope
from cuttlebone.api.dependencies import ExistingJob, Jobs, Status, allowed
from cuttlebone.api.openapi import answer, problems, text_answer
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import ExactJson, delivery_resource
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import DeliveryList

EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter()


@router.get(
    "/metrics",
    tags=["health"],
    summary="Numbers for Prometheus",
    response_class=Response,
    dependencies=[allowed(TokenScope.METRICS)],
    responses={
        200: text_answer("The text format of Prometheus.", read_examples("metrics")),
        **problems(),
    },
)
def show_metrics(status: Status) -> Response:
    """Answer with what the host counts and measures; docs/operations.md says what each is."""
    return Response(status.metrics.exposition(), media_type=EXPOSITION)


@router.get(
    "/v1/jobs/{job_id}/deliveries",
    tags=["jobs"],
    summary="Show what was told to the callback of a job",
    response_model=DeliveryList,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer("The callback, and each attempt to tell it.", read_examples("deliveries")),
        **problems(ProblemCode.UNKNOWN_JOB),
    },
)
def list_deliveries(job: ExistingJob, jobs: Jobs) -> Response:
    """Answer with no delivery while the job has not ended, and if it has no callback."""
    shown = [delivery_resource(job, one) for one in jobs.deliveries(job.key)]
    return ExactJson(DeliveryList(callback_url=job.callback_url, deliveries=shown))
