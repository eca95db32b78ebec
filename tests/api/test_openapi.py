"""The OpenAPI document: complete, and its examples fit what it says of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from api.hosted import Api, served
from cuttlebone.api.problems import KINDS
from cuttlebone.errors import ProblemCode

Described = dict[str, Any]

WITHOUT_OPERATION = {
    ProblemCode.UNKNOWN_ROUTE,
    ProblemCode.METHOD_NOT_ALLOWED,
}


@pytest.fixture(scope="module")
def document(api: Api) -> Described:
    found: Described = api.http.get("/openapi.json").json()
    return found


def operations(document: Described) -> Iterator[tuple[str, Described]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def contents(document: Described) -> Iterator[tuple[str, str, Described]]:
    """Every body that is described: where, its media type, its description."""
    for name, operation in operations(document):
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} body", media_type, content
        for status, answer in operation["responses"].items():
            for media_type, content in answer.get("content", {}).items():
                yield f"{name} {status}", media_type, content


def test_the_document_has_every_route(document: Described) -> None:
    assert {name for name, _ in operations(document)} == {
        "POST /v1/jobs",
        "GET /v1/jobs",
        "POST /v1/jobs/batch",
        "POST /v1/jobs/cancel",
        "POST /v1/jobs/forget",
        "GET /v1/jobs/{job_id}",
        "PUT /v1/jobs/{job_id}",
        "DELETE /v1/jobs/{job_id}",
        "GET /v1/jobs/{job_id}/events",
        "GET /v1/jobs/{job_id}/events/{number}",
        "GET /v1/jobs/{job_id}/result",
        "GET /v1/jobs/{job_id}/journal",
        "GET /v1/jobs/{job_id}/deliveries",
        "POST /v1/jobs/{job_id}/cancel",
        "PUT /v1/blocks/{sha256}",
        "GET /v1/blocks",
        "GET /v1/blocks/{sha256}",
        "DELETE /v1/blocks/{sha256}",
        "GET /v1/specs",
        "GET /v1/specs/{name}",
        "GET /v1/models",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    }


def test_every_operation_has_a_summary_and_documented_refusals(document: Described) -> None:
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["description"], name
        assert {"400", "403", "500", "default"} <= operation["responses"].keys(), name
        for parameter in operation.get("parameters", []):
            assert parameter["schema"], name


def test_every_body_has_an_example(document: Described) -> None:
    for where, _, content in contents(document):
        assert "default" in where or content["examples"], where


def test_every_example_fits_its_schema(document: Described) -> None:
    checked = 0
    for where, media_type, content in contents(document):
        if media_type == "text/event-stream":
            continue
        schema = {**content["schema"], "components": document["components"]}
        validator = jsonschema_rs.validator_for(schema)
        for name, example in content["examples"].items():
            faults = [error.message for error in validator.iter_errors(example["value"])]
            assert not faults, f"{where} {name}"
            checked += 1

    assert checked > 50


def test_every_problem_code_that_a_route_can_answer_is_documented(document: Described) -> None:
    documented = {
        (int(example["value"]["status"]), code)
        for _, media_type, content in contents(document)
        if media_type == "application/problem+json"
        for code, example in content["examples"].items()
    }

    assert documented == {
        (KINDS[code].status, code) for code in ProblemCode if code not in WITHOUT_OPERATION
    }


def test_real_answers_fit_what_the_document_says_of_them(
    tmp_path: Path, document: Described
) -> None:
    with served(tmp_path) as api:
        job = api.ended(api.submit("echo", labels={"a": "b"}))
        asked = {
            "/v1/jobs": "/v1/jobs",
            "/v1/jobs/{job_id}": job["links"]["self"],
            "/v1/jobs/{job_id}/result": job["links"]["result"],
            "/v1/jobs/{job_id}/journal": job["links"]["journal"],
            "/v1/jobs/{job_id}/deliveries": f"{job['links']['self']}/deliveries",
            "/v1/blocks": "/v1/blocks",
            "/v1/specs": "/v1/specs",
            "/v1/specs/{name}": "/v1/specs/echo",
            "/v1/models": "/v1/models",
            "/healthz": "/healthz",
            "/readyz": "/readyz",
        }
        for path, at in asked.items():
            described = document["paths"][path]["get"]["responses"]["200"]["content"]
            schema = described["application/json"]["schema"]
            validator = jsonschema_rs.validator_for(
                {**schema, "components": document["components"]}
            )
            assert validator.is_valid(api.http.get(at).json()), path


def test_every_operation_has_a_short_name_and_links_lead_to_one(document: Described) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    accepted = document["paths"]["/v1/jobs"]["post"]["responses"]["202"]

    assert len(set(names)) == len(names)
    assert {link["operationId"] for link in accepted["links"].values()} == {
        "show_job",
        "follow_job",
        "show_result",
        "show_journal",
        "cancel_job",
        "forget_job",
    }
    assert accepted["links"].keys() <= set(names)


def test_no_reference_of_the_document_leads_nowhere(api: Api, document: Described) -> None:
    text = api.http.get("/openapi.json").text
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', text))

    assert referred <= document["components"]["schemas"].keys()
    assert "HTTPValidationError" not in text


def test_no_parameter_is_said_to_be_null(document: Described) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            assert "null" not in str(parameter["schema"]), f"{name} {parameter['name']}"
