"""What /metrics shows of a host that has done something."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.hosted import Api, served
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.metrics import OTHER, SPECS_NAMED_MAX, HostMetrics
from cuttlebone.testing import Commands, ScriptedEndpoint, ScriptedGuest
from cuttlebone_abi import Json

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def ask_once(_guest: ScriptedGuest, _value: Json) -> Commands:
    """Have one generation."""
    yield {"cmd": "infer", "prompt": "hello", "max_tokens": 4}
    yield {"cmd": "done", "result": None}


def numbers(api: Api) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    answer = api.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_jobs_are_counted_from_acceptance_to_end(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    with served(tmp_path / "specs", state=tmp_path / "state") as api:
        api.ended(api.submit("echo", "a"))
        api.ended(api.submit("give-up"))
        shown = numbers(api)
    assert shown["cuttlebone_jobs_accepted_total", "echo"] == 1
    assert shown["cuttlebone_jobs_ended_total", "echo", "completed"] == 1
    assert shown["cuttlebone_jobs_ended_total", "give-up", "failed"] == 1
    assert shown["cuttlebone_jobs", "completed"] == 1
    assert shown["cuttlebone_jobs", "queued"] == 0
    assert shown["cuttlebone_job_queue_seconds_count",] == 2
    assert shown["cuttlebone_job_guest_seconds_count",] == 2
    assert shown["cuttlebone_job_running_seconds_count", "failed"] == 1
    assert shown["cuttlebone_store_commit_seconds_count",] >= 4
    assert shown["cuttlebone_store_commit_changes_sum",] >= 6
    assert shown["cuttlebone_callbacks", "pending"] == 0


def test_a_job_that_is_cancelled_while_it_waits_has_ended_too(tmp_path: Path) -> None:
    with served(tmp_path, jobs_running_max=1) as api:
        first = api.submit("spin")
        api.emitted(first, "spinning")
        api.http.post(f"/v1/jobs/{api.submit('echo')['id']}/cancel")
        shown = numbers(api)
    assert shown["cuttlebone_jobs_ended_total", "echo", "cancelled"] == 1


def test_requests_are_counted_by_route_and_not_by_path(api: Api) -> None:
    for path in ("/v1/jobs/nobody-1", "/v1/jobs/nobody-2", "/nowhere-1", "/nowhere-2"):
        api.http.get(path)
    api.http.request("PROPFIND", "/nowhere-1")
    shown = numbers(api)
    assert shown["cuttlebone_http_requests_total", "GET", "/v1/jobs/{job_id}", "404"] >= 2
    assert shown["cuttlebone_http_requests_total", "GET", OTHER, "404"] >= 2
    assert ("cuttlebone_http_requests_total", OTHER, OTHER, "404") in shown
    assert not [labels for labels in shown if any("nobody" in one for one in labels)]


def test_a_model_of_two_roles_is_counted_once_and_ready_for_both(tmp_path: Path) -> None:
    shared = ScriptedEndpoint(name="judge/main")
    both = EndpointDirectory({"main": shared, "judge": shared})
    with served(tmp_path, {"ask": ask_once}, endpoints=both, more="model: main") as api:
        api.ended(api.submit("ask"))
        shown = numbers(api)
        states = api.http.get("/v1/models").json()["models"]
        ready = api.http.get("/readyz").json()
    finished = {key: value for key, value in shown.items() if "infer_finished_total" in key[0]}
    assert finished == {("cuttlebone_infer_finished_total", "judge/main"): 1}
    assert [shown["cuttlebone_model_ready", role] for role in ("judge", "main")] == [1, 1]
    assert [(one["role"], one["state"]) for one in states] == [
        ("judge", "ready"),
        ("main", "ready"),
    ]
    assert ready["ready"]


def test_only_so_many_specs_have_series_of_their_own() -> None:
    metrics = HostMetrics()
    for number in range(SPECS_NAMED_MAX + 5):
        metrics.job_accepted(f"spec-{number}")
    shown = metrics.exposition().decode()
    assert 'cuttlebone_jobs_accepted_total{spec="other"} 5.0' in shown
    assert shown.count("cuttlebone_jobs_accepted_total{") == SPECS_NAMED_MAX + 1


def test_the_page_for_operators_names_every_metric(api: Api) -> None:
    families = text_string_to_metric_families(api.http.get("/metrics").text)
    shown = {one.name for one in families if one.name.startswith("cuttlebone_")}
    named = set(re.findall(r"^\| `(cuttlebone_\w+)`", PAGE, re.MULTILINE))
    # The parser takes a unit or the `_total` of counters off the name.
    assert {name.removesuffix("_total").removesuffix("_info") for name in named} == {
        name.removesuffix("_info") for name in shown if not name.endswith("_created")
    }


@pytest.mark.parametrize("name", ["cuttlebone_jobs", "cuttlebone_http_requests_total"])
def test_every_metric_has_a_help_text(api: Api, name: str) -> None:
    text = api.http.get("/metrics").text
    assert f"# HELP {name} " in text
