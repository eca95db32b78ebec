"""The types of the HTTP API: tolerant where a client reads, whole where a host writes."""

import pytest
from pydantic import BaseModel

from cuttlebone import http_types
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import JobLinks, JobSummary, Problem
from cuttlebone.job_options import Priority

LINKS = JobLinks(self="a", events="b", result="c", cancel="d", journal="e", spec="f")
SUMMARY = {
    "id": "a1",
    "spec": "echo",
    "status": "queued",
    "attempt": 0,
    "created_at": "2026-01-01T00:00:00Z",
    "links": LINKS.model_dump(),
}


RESOURCES: list[type[BaseModel]] = [getattr(http_types, name) for name in http_types.__all__]


@pytest.mark.parametrize("kind", RESOURCES)
def test_every_field_of_an_answer_is_promised(kind: type[BaseModel]) -> None:
    schema = kind.model_json_schema(mode="serialization")
    assert set(schema["required"]) == set(kind.model_fields)


@pytest.mark.parametrize("kind", RESOURCES)
def test_an_answer_does_not_change(kind: type[BaseModel]) -> None:
    assert kind.model_config["frozen"]


def test_unknown_fields_are_left_aside() -> None:
    read = JobSummary.model_validate({**SUMMARY, "colour": "green"})
    assert "colour" not in read.model_dump()


def test_a_value_that_a_newer_host_has_is_kept_as_text() -> None:
    known = JobSummary.model_validate({**SUMMARY, "priority": "interactive"})
    newer = JobSummary.model_validate({**SUMMARY, "priority": "leisure"})
    assert known.priority is Priority.INTERACTIVE
    assert newer.priority == "leisure"


def test_a_problem_of_a_newer_host_keeps_its_code() -> None:
    said = {"type": "t", "title": "T", "status": 400, "detail": "d", "instance": "/"}
    assert Problem.model_validate({**said, "code": "bad_request"}).code is ProblemCode.BAD_REQUEST
    assert Problem.model_validate({**said, "code": "too_new"}).code == "too_new"
