"""Specs, models and health, as the API shows them."""

from pathlib import Path

import pytest

from api.hosted import VERSION, Api, served
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase, State
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import Signature, parse_type
from hosts import write_spec


def test_a_spec_says_what_it_takes_and_gives_and_what_its_jobs_may_do(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    more = (
        "capabilities: {read: [./docs]}\n"
        "input: {type: object}\n"
        "limits: {time_ms: 5000, memory_bytes: 99999999999}\n"
    )
    signature = Signature(output=parse_type("[{a: text}]"))
    with served(tmp_path, more=more, signature=signature) as api:
        spec = api.http.get("/v1/specs/echo").json()

    assert spec["name"] == "echo"
    assert spec["description"] == "Runs the script echo."
    assert spec["model"] is None
    assert spec["block"]["digest"].startswith("sha256:")
    assert spec["signature"] == {"input": "json", "output": "[{a: text}]"}
    assert (spec["input_schema"], spec["output_schema"]) == ({"type": "object"}, True)
    assert spec["limits"]["time_ms"] == 5000
    assert spec["limits"]["memory_bytes"] == 1 << 30
    assert spec["grants"] == {"read": ["./docs"], "follow_symlinks": False}
    assert spec["links"] == {"self": "/v1/specs/echo", "jobs": "/v1/jobs?spec=echo"}


def test_specs_are_listed_by_name_and_those_with_a_fault_beside_them(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        write_spec(tmp_path, "broken", "modle: none")
        listed = api.http.get("/v1/specs").json()

    assert [spec["name"] for spec in listed["specs"]] == ["echo", "give-up", "say", "spin"]
    (unusable,) = listed["unusable"]
    assert unusable["file"] == "broken.yaml"
    assert "broken.yaml:4: unknown key `modle`; did you mean `model`?" in unusable["fault"]


def test_a_spec_that_was_changed_is_served_as_it_is_now(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        write_spec(tmp_path, "echo", "limits: {steps: 7}")

        assert api.http.get("/v1/specs/echo").json()["limits"]["steps"] == 7


def test_a_host_without_models_is_alive_and_ready(api: Api) -> None:
    assert api.http.get("/healthz").json() == {"status": "alive", "version": VERSION}
    ready = api.http.get("/readyz")
    assert ready.status_code == 200
    assert (ready.json()["ready"], ready.json()["reasons"]) == (True, [])
    assert ready.json()["isolation"]["seccomp"] == "off: guests are scripts"
    assert api.http.get("/v1/models").json() == {"models": []}


def test_models_are_shown_with_their_state_and_keep_the_host_from_being_ready(
    tmp_path: Path,
) -> None:
    endpoints = EndpointDirectory(
        {
            "writer": ScriptedEndpoint(state=State(Phase.LOADING, progress=0.25)),
            "judge": ScriptedEndpoint(state=State(Phase.FAILED, "bad.gguf is no GGUF file")),
        },
        files={"writer": "good.gguf", "judge": "bad.gguf"},
    )
    with served(tmp_path, endpoints=endpoints) as api:
        models = api.http.get("/v1/models").json()["models"]
        ready = api.http.get("/readyz")

    assert [(one["role"], one["file"]) for one in models] == [
        ("judge", "bad.gguf"),
        ("writer", "good.gguf"),
    ]
    assert (models[0]["state"], models[0]["progress"]) == ("failed", None)
    assert (models[1]["state"], models[1]["progress"]) == ("loading", 0.25)
    assert models[1]["context_tokens"] is None
    assert models[1]["reason"] is None
    assert ready.status_code == 503
    assert not ready.json()["ready"]
    assert "the model `writer` is loading, 25% so far" in ready.json()["reasons"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/models", "/v1/specs", "/v1/jobs"])
def test_answers_are_not_kept_by_caches(api: Api, path: str) -> None:
    assert api.http.get(path).headers["Cache-Control"] == "no-store"
