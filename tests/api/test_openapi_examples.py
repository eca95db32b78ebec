"""The examples of the OpenAPI document: whole, and each of the type that its file is named for."""

from importlib.resources import files

import pytest
from pydantic import BaseModel, TypeAdapter

from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.api.submission_body import SubmissionBody
from cuttlebone.errors import ProblemCode
from cuttlebone.http_types import (
    BlockList,
    BlockResource,
    DeliveryList,
    EventResource,
    Health,
    JobCount,
    JobPage,
    JobResource,
    ModelList,
    ReadinessResource,
    SpecList,
    SpecResource,
)
from cuttlebone.job.recorded_job import RecordedJob
from cuttlebone_abi import Envelope

KINDS: dict[str, TypeAdapter[object]] = {
    "block": TypeAdapter(BlockResource),
    "block_list": TypeAdapter(BlockList),
    "deliveries": TypeAdapter(DeliveryList),
    "envelopes": TypeAdapter(Envelope),
    "event": TypeAdapter(EventResource),
    "health": TypeAdapter(Health),
    "job_count": TypeAdapter(JobCount),
    "job_page": TypeAdapter(JobPage),
    "jobs": TypeAdapter(JobResource),
    "journal": TypeAdapter(RecordedJob),
    "model_list": TypeAdapter(ModelList),
    "readiness": TypeAdapter(ReadinessResource),
    "spec": TypeAdapter(SpecResource),
    "spec_list": TypeAdapter(SpecList),
}
TEXTS = ("batch", "batch_answers", "event_stream", "metrics", "wasm_module")


@pytest.mark.parametrize("file", KINDS)
def test_an_example_of_an_answer_has_every_field_of_it(file: str) -> None:
    for name, example in read_examples(file).items():
        read = KINDS[file].validate_python(example)
        assert isinstance(read, BaseModel)
        assert read.model_dump(mode="json") == example, name


def test_an_example_of_a_submission_is_one() -> None:
    for example in read_examples("submissions").values():
        assert SubmissionBody.model_validate(example).spec == "summarize"


def test_every_problem_code_has_an_example() -> None:
    assert read_examples("problems").keys() == set(ProblemCode)


@pytest.mark.parametrize("file", TEXTS)
def test_an_example_of_a_body_that_is_no_json_is_text(file: str) -> None:
    assert all(isinstance(example, str) for example in read_examples(file).values())


def test_every_file_is_checked() -> None:
    found = {path.name for path in (files("cuttlebone.api") / "examples").iterdir()}

    assert found == {f"{name}.json" for name in (*KINDS, *TEXTS, "submissions", "problems")}


def test_only_what_is_named_is_read() -> None:
    assert read_examples("jobs", "queued").keys() == {"queued"}
    with pytest.raises(KeyError, match="lost"):
        read_examples("jobs", "lost")
