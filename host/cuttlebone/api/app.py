"""The application: all routes over one host, the guard around them, the problem documents."""

from functools import cache
from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from cuttlebone.access import Authenticator, Quotas
from cuttlebone.api.app_state import AppState, keep_state
from cuttlebone.api.batch_routes import router as batch_routes
from cuttlebone.api.block_routes import router as block_routes
from cuttlebone.api.connection_limits import ConnectionLimits
from cuttlebone.api.dependencies import KnownQuery
from cuttlebone.api.error_middleware import ErrorMiddleware
from cuttlebone.api.event_routes import router as event_routes
from cuttlebone.api.health_routes import router as health_routes
from cuttlebone.api.job_routes import router as job_routes
from cuttlebone.api.journal_slots import JournalSlots
from cuttlebone.api.listing_routes import router as listing_routes
from cuttlebone.api.metrics_middleware import MetricsMiddleware
from cuttlebone.api.openapi import openapi_document
from cuttlebone.api.operation_routes import router as operation_routes
from cuttlebone.api.origin_middleware import OriginMiddleware
from cuttlebone.api.problems import refuse
from cuttlebone.api.single_value_middleware import SingleValueMiddleware
from cuttlebone.api.spec_routes import router as spec_routes
from cuttlebone.api.submission_batcher import SubmissionBatcher
from cuttlebone.api.submission_routes import router as submission_routes
from cuttlebone.api.subscribers import Subscribers
from cuttlebone.errors import CallerError, OperatorError, StoreUnavailable
from cuttlebone.service.host import Host
from cuttlebone_abi import dump_json

BATCHES_AT_ONCE: Final = 2
"""Batches that are being checked; more wait, so that other requests have their turn."""
OPENAPI_PATH: Final = "/openapi.json"

_REFUSED: Final = (
    CallerError,
    OperatorError,
    StoreUnavailable,
    RequestValidationError,
    HTTPException,
)


def create_app(
    host: Host,
    *,
    version: str,
    names: tuple[str, ...] = (),
    authenticator: Authenticator | None = None,
    limits: ConnectionLimits | None = None,
) -> FastAPI:
    """Serve `host` over HTTP.

    `names` are those, as they stand in URLs, under which the host may be addressed besides the
    loopback ones: `127.0.0.5`, `[::1]`. Without an `authenticator` everybody is let in, without
    `limits` the documented ones hold.
    """
    app = FastAPI(
        title="Cuttlebone",
        summary="Sandboxed WebAssembly jobs beside a local language model",
        version=version,
        # The document is served by a route below, and pages that load scripts from elsewhere by none.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    keep_state(app, _state(host, authenticator or Authenticator(), limits or ConnectionLimits()))
    for router in (
        submission_routes,
        batch_routes,
        listing_routes,
        job_routes,
        event_routes,
        block_routes,
        spec_routes,
        operation_routes,
    ):
        app.include_router(router)
    app.include_router(health_routes, dependencies=[KnownQuery])
    _serve_document(app)
    for error in _REFUSED:
        app.add_exception_handler(error, refuse)
    # The one added last is outermost.
    app.add_middleware(OriginMiddleware, names=names)
    app.add_middleware(SingleValueMiddleware)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=host.status.metrics)
    return app


def _state(host: Host, authenticator: Authenticator, limits: ConnectionLimits) -> AppState:
    quotas = Quotas(host.settings)
    return AppState(
        host=host,
        authenticator=authenticator,
        quotas=quotas,
        limits=limits,
        subscribers=Subscribers(),
        batcher=SubmissionBatcher(host.jobs, quotas),
        compile_threads=CapacityLimiter(limits.compile_threads),
        batch_threads=CapacityLimiter(BATCHES_AT_ONCE),
        journal_slots=JournalSlots(host.settings.journals_open_max),
    )


def _serve_document(app: FastAPI) -> None:
    # When it is first asked for: writing it takes a quarter of the time of a start.
    @cache
    def document() -> bytes:
        return dump_json(openapi_document(app))

    def show_document() -> Response:  # in a thread, for the same reason
        return Response(document(), media_type="application/json")

    app.add_api_route(OPENAPI_PATH, show_document, methods=["GET"], include_in_schema=False)
