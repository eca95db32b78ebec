"""Routes of blocks: uploaded under their digest, listed, shown, forgotten."""

from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from cuttlebone.access import TokenScope
from cuttlebone.api.compile_threads import in_compile_thread
from cuttlebone.api.dependencies import BlockSha256, Specs, allowed
from cuttlebone.api.openapi import answer, block_request, nothing, problems
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.request_body import body_parts, bytes_announced, check_media_type
from cuttlebone.api.resource_views import ExactJson, block_resource
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import BlockList, BlockResource

WASM: Final = "application/wasm"

router = APIRouter(prefix="/v1/blocks", tags=["blocks"])


@router.put(
    "/{sha256}",
    status_code=201,
    summary="Upload a block",
    response_model=BlockResource,
    dependencies=[allowed(TokenScope.ADMIN)],
    responses={
        201: answer("Kept.", read_examples("block")),
        200: answer("It was there already.", read_examples("block"), BlockResource),
        **problems(
            ProblemCode.BODY_TOO_LARGE,
            ProblemCode.BODY_TIMEOUT,
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            ProblemCode.DIGEST_MISMATCH,
            ProblemCode.BLOCK_REFUSED,
            ProblemCode.MISCONFIGURED,
            ProblemCode.STORE_UNAVAILABLE,
        ),
    },
    openapi_extra=block_request(WASM),
)
async def upload_block(request: Request, sha256: BlockSha256, specs: Specs) -> Response:
    """Receive a wasm module, check its digest, admit and compile it, and keep it.

    A spec runs it as `block: sha256:…`.
    """
    check_media_type(request, WASM)
    with specs.upload(sha256, bytes_announced=bytes_announced(request)) as upload:
        async for part in body_parts(request):
            await run_in_threadpool(upload.write, part)
        _, new = await in_compile_thread(request, upload.finish)
    known = await in_compile_thread(request, specs.block, sha256)
    return ExactJson(block_resource(known), 201 if new else 200)


@router.get(
    "",
    summary="List blocks",
    response_model=BlockList,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer("All blocks, by digest.", read_examples("block_list")),
        **problems(ProblemCode.MISCONFIGURED),
    },
)
async def list_blocks(request: Request, specs: Specs) -> Response:
    """Show the blocks that were uploaded and those that specs run."""
    known = await in_compile_thread(request, specs.blocks)
    return ExactJson(BlockList(blocks=[block_resource(one) for one in known]))


@router.get(
    "/{sha256}",
    summary="Show a block",
    response_model=BlockResource,
    dependencies=[allowed(TokenScope.READ)],
    responses={
        200: answer("The block.", read_examples("block")),
        **problems(ProblemCode.UNKNOWN_BLOCK, ProblemCode.MISCONFIGURED),
    },
)
async def show_block(request: Request, sha256: BlockSha256, specs: Specs) -> Response:
    """Show what a block takes and gives, and which specs run it."""
    known = await in_compile_thread(request, specs.block, sha256)
    return ExactJson(block_resource(known))


@router.delete(
    "/{sha256}",
    status_code=204,
    summary="Forget a block",
    response_class=Response,
    dependencies=[allowed(TokenScope.ADMIN)],
    responses={
        204: nothing("It is gone."),
        **problems(
            ProblemCode.UNKNOWN_BLOCK,
            ProblemCode.BLOCK_IN_USE,
            ProblemCode.MISCONFIGURED,
            ProblemCode.STORE_UNAVAILABLE,
        ),
    },
)
async def forget_block(request: Request, sha256: BlockSha256, specs: Specs) -> Response:
    """Remove an upload that no spec names by its digest."""
    await in_compile_thread(request, specs.forget_block, sha256)
    return Response(status_code=204, headers={"Cache-Control": "no-store"})
