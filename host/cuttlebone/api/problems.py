"""Refusals as problem documents (RFC 9457), and the one mapping from problem codes to HTTP statuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from cuttlebone.errors import (
    RETRY_LATER_S,
    CallerError,
    OperatorError,
    ProblemCode,
    StoreUnavailable,
)
from cuttlebone.http_types import FieldProblem, Problem
from cuttlebone.text import printable
from cuttlebone_abi import dump_json
from cuttlebone_abi.faults import requirement

MEDIA_TYPE: Final = "application/problem+json"

_METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """What all problems of one code have in common."""

    status: int
    title: str


KINDS: Final[Mapping[ProblemCode, ProblemKind]] = MappingProxyType(
    {
        ProblemCode.BAD_REQUEST: ProblemKind(400, "The request makes no sense"),
        ProblemCode.MALFORMED_JSON: ProblemKind(400, "The body is not JSON"),
        ProblemCode.LIMIT_EXCEEDED: ProblemKind(400, "The body passes a bound"),
        ProblemCode.UNAUTHENTICATED: ProblemKind(401, "The host does not know who asks"),
        ProblemCode.MISSING_SCOPE: ProblemKind(403, "The token may not do that"),
        ProblemCode.FORBIDDEN_HOST: ProblemKind(403, "The request is addressed to another host"),
        ProblemCode.FORBIDDEN_ORIGIN: ProblemKind(403, "The request comes from a foreign web page"),
        ProblemCode.UNKNOWN_ROUTE: ProblemKind(404, "There is nothing at this path"),
        ProblemCode.UNKNOWN_JOB: ProblemKind(404, "There is no such job"),
        ProblemCode.UNKNOWN_EVENT: ProblemKind(404, "There is no such event"),
        ProblemCode.UNKNOWN_SPEC: ProblemKind(404, "There is no such spec"),
        ProblemCode.UNKNOWN_BLOCK: ProblemKind(404, "There is no such block"),
        ProblemCode.METHOD_NOT_ALLOWED: ProblemKind(405, "This path does not take this method"),
        ProblemCode.BODY_TIMEOUT: ProblemKind(408, "The body came too slowly"),
        ProblemCode.NOT_FINAL: ProblemKind(409, "The job has not ended yet"),
        ProblemCode.JOB_EXISTS: ProblemKind(409, "Another job has this id"),
        ProblemCode.BLOCK_IN_USE: ProblemKind(409, "Specs use the block"),
        ProblemCode.BODY_TOO_LARGE: ProblemKind(413, "The body is too large"),
        ProblemCode.UNSUPPORTED_MEDIA_TYPE: ProblemKind(415, "The body has the wrong type"),
        ProblemCode.INVALID_BODY: ProblemKind(422, "The body does not have its documented shape"),
        ProblemCode.SCHEMA_VALIDATION_FAILED: ProblemKind(422, "The input does not fit the spec"),
        ProblemCode.IDEMPOTENCY_MISMATCH: ProblemKind(
            422, "The idempotency key belongs to another request"
        ),
        ProblemCode.DIGEST_MISMATCH: ProblemKind(422, "The body has another digest than the path"),
        ProblemCode.BLOCK_REFUSED: ProblemKind(422, "The body is no usable block"),
        ProblemCode.QUOTA_EXCEEDED: ProblemKind(429, "The caller asks for too much"),
        ProblemCode.HEAD_TOO_LARGE: ProblemKind(431, "The head of the request is too large"),
        ProblemCode.QUEUE_FULL: ProblemKind(429, "Too many jobs are waiting"),
        ProblemCode.INTERNAL: ProblemKind(500, "The host has a fault"),
        ProblemCode.SPEC_UNUSABLE: ProblemKind(503, "The spec cannot be served"),
        ProblemCode.MISCONFIGURED: ProblemKind(503, "The host is set up wrongly"),
        ProblemCode.TOO_MANY_CONNECTIONS: ProblemKind(503, "Too many connections are open"),
        ProblemCode.HOST_BUSY: ProblemKind(503, "The host does as much of this as it can"),
        ProblemCode.STOPPING: ProblemKind(503, "The host is stopping"),
        ProblemCode.STORE_UNAVAILABLE: ProblemKind(507, "The host cannot keep anything now"),
    }
)


def problem_of(error: CallerError, instance: str) -> Problem:
    """Write a refusal of a request to the path `instance` as a document."""
    kind = KINDS[error.code]
    return Problem(
        type=f"urn:cuttlebone:problem:{error.code}",
        title=kind.title,
        status=kind.status,
        detail=error.message,
        code=error.code,
        instance=instance,
        errors=[
            FieldProblem(pointer=fault.pointer, message=fault.message) for fault in error.faults
        ],
    )


def refusal(error: CallerError, scope: Scope) -> Response:
    """The response that refuses the request of `scope`."""
    # As it stood in the request line: percent-encoded, so that no path can break a line.
    instance = scope.get("raw_path", b"").decode("ascii", "replace")
    problem = problem_of(error, instance)
    headers = {"Cache-Control": "no-store"}
    if error.code is ProblemCode.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = 'Bearer realm="cuttlebone"'
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if error.code is ProblemCode.BODY_TIMEOUT:
        headers["Connection"] = "close"  # nobody waits for the rest of the body
    if error.code is ProblemCode.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_allowed(scope))
    return Response(dump_json(problem), problem.status, headers, MEDIA_TYPE)


async def refuse(request: Request, error: Exception) -> Response:
    """Answer a request whose handling ended in one of the errors that `as_caller_error` knows."""
    return refusal(as_caller_error(error, request), request.scope)


def as_caller_error(error: Exception, request: Request) -> CallerError:
    """What to tell the caller; an error that nobody foresaw is raised again."""
    match error:
        case CallerError():
            return error
        case OperatorError():
            return CallerError(
                ProblemCode.MISCONFIGURED, f"the operator of this host has to mend this: {error}"
            )
        case StoreUnavailable():
            return CallerError(
                ProblemCode.STORE_UNAVAILABLE,
                f"this host cannot keep anything now: {printable(str(error))}; "
                "nothing was changed, try again later",
                retry_after_s=RETRY_LATER_S,
            )
        case RequestValidationError():
            return CallerError(ProblemCode.BAD_REQUEST, _parameters(error))
        case HTTPException(status_code=404):
            return CallerError(
                ProblemCode.UNKNOWN_ROUTE,
                f"nothing is at {printable(request.scope['path'])}; GET /openapi.json lists what there is",
            )
        case HTTPException(status_code=405):
            allowed = ", ".join(_methods_allowed(request.scope))
            return CallerError(
                ProblemCode.METHOD_NOT_ALLOWED, f"this path takes {allowed}, not {request.method}"
            )
        case _:
            raise error


def _parameters(error: RequestValidationError) -> str:
    """Say of each parameter that is wrong where it stands, its name, and why it is wrong."""
    return "; ".join(
        f"`{printable(str(fault['loc'][1]))}` in the {fault['loc'][0]}: "
        f"{requirement(fault)}, "
        f"but is {printable(repr(fault['input']), chars_max=80)}"
        for fault in error.errors()
    )


def _methods_allowed(scope: Scope) -> list[str]:
    """All methods that some route takes at the path of `scope`.

    The framework names only those of the first route with that path, and one path often has
    a route for each method.
    """
    routes = scope["app"].routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]
