"""The OpenAPI document: what each route may answer, with an example of everything."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.problems import KINDS, MEDIA_TYPE, problem_of
from cuttlebone.api.submission_body import BatchedSubmission, SubmissionBody
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.http_types import BatchAnswer, Problem
from cuttlebone_abi import Json, dump_json, load_json

Described: TypeAlias = dict[str, Any]
"""A part of an OpenAPI document."""

_EVERYWHERE: Final = (
    ProblemCode.BAD_REQUEST,
    ProblemCode.FORBIDDEN_HOST,
    ProblemCode.FORBIDDEN_ORIGIN,
    ProblemCode.HEAD_TOO_LARGE,
    ProblemCode.TOO_MANY_CONNECTIONS,
    ProblemCode.INTERNAL,
)
_GUARDED: Final = (
    ProblemCode.UNAUTHENTICATED,
    ProblemCode.MISSING_SCOPE,
    ProblemCode.QUOTA_EXCEEDED,
    ProblemCode.MISCONFIGURED,
)
"""What every route answers that asks for a token where the host has any."""

_HEADERS: Final[Mapping[str, Described]] = {
    "Location": {"description": "Path of the job.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds after which to look again; absent when the job has ended.",
        "schema": {"type": "integer"},
    },
    "ETag": {
        "description": "Changes with the job; send it as `If-None-Match`.",
        "schema": {"type": "string"},
    },
    "Idempotent-Replayed": {
        "description": "`true`: the same request made this job before.",
        "schema": {"type": "string"},
    },
}

# The framework would describe it too, but only for a price at every request.
_TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "Needed where the host has tokens; `cuttlebone token add` makes one.",
}

_EVENT: Final = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string"},
        "id": {"type": "string"},
        "retry": {"type": "integer", "minimum": 0},
    },
}
"""An event of a stream, as OpenAPI 3.2 has it."""

_PROBLEM_DETAILS: Final = read_examples("problems")
_PROBLEM_INSTANCE: Final = "/v1/jobs"
_JOB_ID: Final = {"job_id": "$response.body#/id"}

_TAGS: Final = (
    {"name": "jobs", "description": "Submit, follow, cancel."},
    {"name": "blocks", "description": "Modules that specs run."},
    {"name": "specs", "description": "What can be submitted."},
    {"name": "models", "description": "What serves inference."},
    {"name": "health", "description": "For whoever watches over the host."},
)


def answer(
    description: str,
    examples: Mapping[str, Json],
    model: type[BaseModel] | None = None,
    *,
    headers: tuple[str, ...] = (),
    links: tuple[str, ...] = (),
) -> Described:
    """Describe an answer; `model` is needed where it is not the answer that the route declares.

    `links` are the operations that take the id of the job in the answer.
    """
    described: Described = {
        "description": description,
        "content": {"application/json": {"examples": _named(examples)}},
        "headers": {name: _HEADERS[name] for name in headers},
        "links": {name: {"operationId": name, "parameters": _JOB_ID} for name in links},
    }
    return described if model is None else {**described, "model": model}


def nothing(description: str, *, headers: tuple[str, ...] = ()) -> Described:
    """Describe an answer without a body."""
    return {
        "description": description,
        "headers": {name: _HEADERS[name] for name in headers},
    }


def text_answer(
    description: str, examples: Mapping[str, Json], media_type: str = "text/plain"
) -> Described:
    """Describe an answer that is plain text."""
    content = {"schema": {"type": "string"}, "examples": _named(examples)}
    return {"description": description, "content": {media_type: content}}


def event_answer() -> Described:
    """Describe a stream of events."""
    stream = {"itemSchema": _EVENT, "examples": _named(read_examples("event_stream"))}
    return {
        "description": "A snapshot of the job, then its events.",
        "content": {"text/event-stream": stream},
    }


def problems(*codes: ProblemCode, guarded: bool = True) -> dict[int | str, Described]:
    """Describe the refusals of a route, by status; those that every route has are added."""
    by_status: dict[int | str, dict[str, Json]] = {}
    for code in dict.fromkeys((*codes, *_EVERYWHERE, *(_GUARDED if guarded else ()))):
        example = problem_of(CallerError(code, _PROBLEM_DETAILS[code]), _PROBLEM_INSTANCE)
        by_status.setdefault(KINDS[code].status, {})[code] = example.model_dump(mode="json")
    described = {
        status: _refusal("; ".join(one["title"] for one in examples.values()) + ".", examples)
        for status, examples in sorted(by_status.items(), key=lambda item: int(item[0]))
    }
    return {**described, "default": _refusal("Any other refusal.", {})}


def submission_request() -> Described:
    """Describe the body of a submission. It is parsed by hand, so the framework cannot."""
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": _reference(SubmissionBody),
                    "examples": _named(read_examples("submissions")),
                }
            },
        }
    }


def batch_request(media_type: str) -> Described:
    """Describe the body of a batch, which is many lines of JSON."""
    return {
        "requestBody": {
            "required": True,
            "description": "Lines of JSON, 1 to 1000, each a `BatchedSubmission`.",
            "content": {
                media_type: {
                    "schema": {"type": "string", "minLength": 1},
                    "examples": _named(read_examples("batch")),
                }
            },
        }
    }


def block_request(media_type: str) -> Described:
    """Describe the body of an upload."""
    return {
        "requestBody": {
            "required": True,
            "content": {
                media_type: {
                    "schema": {"type": "string", "format": "binary"},
                    "examples": _named(read_examples("wasm_module")),
                }
            },
        }
    }


def openapi_document(app: FastAPI) -> Described:
    """Write the OpenAPI document of all routes of `app`."""
    document: Described = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=[dict(tag) for tag in _TAGS],
    )
    _, by_hand = models_json_schema(
        [
            (SubmissionBody, "validation"),
            (BatchedSubmission, "validation"),
            (BatchAnswer, "serialization"),
            (Problem, "serialization"),
        ],
        ref_template="#/components/schemas/{model}",
    )
    document["components"]["securitySchemes"] = {"token": dict(_TOKEN)}
    for name, schema in by_hand["$defs"].items():
        document["components"]["schemas"].setdefault(name, schema)
    _unwrap_examples(document)
    for operations in document["paths"].values():
        for operation in operations.values():
            if "401" in operation["responses"]:
                operation["security"] = [{"token": []}, {}]  # a host without tokens asks for none
            for parameter in operation.get("parameters", ()):
                _leave_out_null(parameter)
    return document


def _refusal(description: str, examples: Mapping[str, Json]) -> Described:
    return {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": _reference(Problem), "examples": _named(examples)}},
    }


def _named(examples: Mapping[str, Json]) -> Described:
    """Examples as JSON text: the framework drops every null from the document that it writes."""
    return {name: {"value": dump_json(value).decode()} for name, value in examples.items()}


def _unwrap_examples(part: Json) -> None:
    """Put the value of each example in place of its text."""
    match part:
        case {"examples": dict(examples)}:
            for example in examples.values():
                example["value"] = load_json(example["value"].encode())
        case dict():
            for child in part.values():
                _unwrap_examples(child)
        case list():
            for child in part:
                _unwrap_examples(child)


def _leave_out_null(parameter: Described) -> None:
    """An optional parameter is absent; the framework says that it may be null, which is a text here."""
    schema = parameter["schema"]
    if "anyOf" in schema:
        kinds = [kind for kind in schema.pop("anyOf") if kind != {"type": "null"}]
        schema.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _reference(model: type[BaseModel]) -> Described:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
