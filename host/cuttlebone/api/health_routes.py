"""Routes for whoever watches over the host: is it alive, is it ready."""

from fastapi import APIRouter, Request, Response

from cuttlebone.api.dependencies import Status
from cuttlebone.api.documents import answer, problems
from cuttlebone.api.examples import HEALTH, NOT_READY, READY
from cuttlebone.api.resources import Health, ReadinessResource
from cuttlebone.api.views import ExactJson

router = APIRouter(tags=["health"])


@router.get(
    "/healthz",
    summary="Is the host alive?",
    response_model=Health,
    responses={200: answer("It is.", {"alive": HEALTH}), **problems(guarded=False)},
)
async def show_health(request: Request) -> Response:
    """Answer as long as the event loop turns, without asking anything else."""
    return ExactJson(Health(status="alive", version=request.app.version))


@router.get(
    "/readyz",
    summary="Can the host serve all that it is set up to serve?",
    response_model=ReadinessResource,
    responses={
        200: answer("It can.", {"ready": READY}),
        503: answer("It cannot, for these reasons.", {"not_ready": NOT_READY}, ReadinessResource),
        **problems(guarded=False),
    },
)
def show_readiness(status: Status) -> Response:
    """Answer 503 with all reasons while a model is not ready."""
    found = status.readiness()
    layers = {
        layer: "on" if missing is None else f"off: {missing}"
        for layer, missing in found.layers.items()
    }
    body = ReadinessResource(ready=found.ready, reasons=found.reasons, isolation=layers)
    return ExactJson(body, 200 if found.ready else 503)
