"""Routes of what can be run: specs and models."""

from fastapi import APIRouter, Request, Response

from cuttlebone.access import TokenScope
from cuttlebone.api.compile_threads import in_compile_thread
from cuttlebone.api.dependencies import SpecName, Specs, Status, allowed
from cuttlebone.api.openapi import answer, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.resource_views import ExactJson, model_resource, spec_resource, unusable_specs
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import ModelList, SpecList, SpecResource

router = APIRouter(prefix="/v1", dependencies=[allowed(TokenScope.READ)])


@router.get(
    "/specs",
    tags=["specs"],
    summary="List specs",
    response_model=SpecList,
    responses={
        200: answer("All specs, by name.", read_examples("spec_list")),
        **problems(ProblemCode.MISCONFIGURED),
    },
)
async def list_specs(request: Request, specs: Specs) -> Response:
    """Show what can be submitted, and which spec files have a fault."""
    known = await in_compile_thread(request, specs.specs)
    faults = await in_compile_thread(request, specs.faults)
    return ExactJson(
        SpecList(
            specs=[spec_resource(one) for one in known],
            unusable=unusable_specs(faults),
        )
    )


@router.get(
    "/specs/{name}",
    tags=["specs"],
    summary="Show a spec",
    response_model=SpecResource,
    responses={
        200: answer("The spec.", read_examples("spec")),
        **problems(ProblemCode.UNKNOWN_SPEC, ProblemCode.SPEC_UNUSABLE, ProblemCode.MISCONFIGURED),
    },
)
async def show_spec(request: Request, name: SpecName, specs: Specs) -> Response:
    """Show when to use a spec, what it takes and gives, and what its jobs may do."""
    known = await in_compile_thread(request, specs.spec, name)
    return ExactJson(spec_resource(known))


@router.get(
    "/models",
    tags=["models"],
    summary="List models",
    response_model=ModelList,
    responses={200: answer("All models, by role.", read_examples("model_list")), **problems()},
)
def list_models(status: Status) -> Response:
    """Show the models of this host and whether they are loaded."""
    return ExactJson(ModelList(models=[model_resource(one) for one in status.models()]))
