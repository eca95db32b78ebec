"""Routes for whoever watches over the host: is it alive, is it ready."""

from fastapi import APIRouter, Request, Response

from cuttlebone.api.dependencies import Status
from cuttlebone.api.openapi import answer, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import ExactJson
from cuttlebone.http_types import Health, ReadinessResource

router = APIRouter(tags=["health"])


@router.get(
    "/healthz",
    summary="Is the host alive?",
    response_model=Health,
    responses={200: answer("It is.", read_examples("health")), **problems(guarded=False)},
)
async def show_health(request: Request) -> Response:
    """Answer as long as the event loop turns, without asking anything else."""
    return ExactJson(Health(status="alive", version=request.app.version))


@router.get(
    "/readyz",
    summary="Can the host serve all that it is set up to serve?",
    response_model=ReadinessResource,
    responses={
        200: answer("It can.", read_examples("readiness", "ready")),
        503: answer(
            "It cannot, for these reasons.",
            read_examples("readiness", "not_ready"),
            ReadinessResource,
        ),
        **problems(guarded=False),
    },
)
def show_readiness(status: Status) -> Response:
    """Answer 503 with all reasons while a model is not ready, or nothing can be kept."""
    found = status.readiness()
    layers = {
        layer: "on" if missing is None else f"off: {missing}"
        for layer, missing in found.layers.items()
    }
    body = ReadinessResource(ready=found.ready, reasons=list(found.reasons), isolation=layers)
    return ExactJson(body, 200 if found.ready else 503)
