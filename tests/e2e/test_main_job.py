"""The main job from end to end: HTTP, a block that a compiler built, real files, a real model."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from cuttlebone.cli.host_process import host_process
from e2e.conftest import ANSWER_S_MAX

pytestmark = [pytest.mark.e2e, pytest.mark.model]

TEXT = "texts/tide-mill.txt"


def submit(http: httpx.Client, spec: str = "summarize", path: str = TEXT) -> dict[str, Any]:
    answer = http.post("/v1/jobs", json={"spec": spec, "input": {"path": path}})
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    return job


def ended(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 2 * ANSWER_S_MAX
    while time.monotonic() < deadline:
        found: dict[str, Any] = http.get(f"/v1/jobs/{job['id']}?wait=60").json()
        if found["status"] in {"completed", "failed", "cancelled"}:
            return found
    raise AssertionError(f"the job is still {found['status']}: {found}")


def test_a_file_is_summarised_and_every_part_of_the_way_can_be_seen(http: httpx.Client) -> None:
    job = submit(http)
    with connect_sse(http, "GET", f"/v1/jobs/{job['id']}/events") as stream:
        events = [(one.event, json.loads(one.data)) for one in stream.iter_sse()]
    done = ended(http, job)

    kinds = [kind for kind, _ in events]
    assert kinds[0] == "snapshot"
    assert kinds[-1] == "result"
    progress = [data for kind, data in events if kind == "progress"]
    windows = [data for data in progress if "window" in data]
    assert [one["window"] for one in windows] == list(range(1, len(windows) + 1))
    assert sum(one["len"] for one in windows) == done["envelope"]["result"]["bytes"] == 4225
    assert "".join(data["text"] for kind, data in events if kind == "token")

    envelope = done["envelope"]
    assert events[-1][1] == envelope == http.get(f"/v1/jobs/{job['id']}/result").json()
    assert envelope["result"]["summary"]
    assert envelope["usage"]["model"] == "smollm2"
    assert envelope["usage"]["tokens_in"] > 1000
    assert envelope["usage"]["tokens_out"] > 20
    accounting = done["accounting"]
    assert accounting["infer_ms"] <= envelope["usage"]["duration_ms"] + 1
    assert accounting["memory_bytes_peak"] >= 65536


def test_jobs_that_share_the_model_all_complete_with_their_own_cost(http: httpx.Client) -> None:
    together = [submit(http) for _ in range(3)]
    envelopes = [ended(http, job)["envelope"] for job in together]

    assert [one["status"] for one in envelopes] == ["completed"] * 3
    assert all(one["usage"]["tokens_in"] > 1000 for one in envelopes)


def test_a_generation_is_cancelled_at_once_and_its_cost_is_kept(http: httpx.Client) -> None:
    job = submit(http)
    with connect_sse(http, "GET", f"/v1/jobs/{job['id']}/events") as stream:
        for event in stream.iter_sse():
            if event.event == "token":
                assert http.post(f"/v1/jobs/{job['id']}/cancel").status_code in {200, 202}
            last = event
    envelope = json.loads(last.data)

    assert envelope["status"] == "cancelled"
    assert envelope["error"]["code"] == "cancelled"
    assert envelope["usage"]["tokens_out"] > 0


@pytest.mark.parametrize(
    ("spec", "path", "code", "said"),
    [
        ("summarize", "/etc/passwd", "capability_denied", "/etc/passwd"),
        ("summarize", "../summarize.yaml", "capability_denied", "summarize.yaml"),
        ("summarize", "texts/none.txt", "not_found", "none.txt"),
        ("summarize", "texts/picture.png", "not_text", "picture.png"),
        ("unserved", TEXT, "model_load_failed", "elsewhere"),
        ("hasty", TEXT, "timeout", "time_ms"),
        ("frugal", TEXT, "limit_exceeded", "tokens_out"),
    ],
)
def test_what_goes_wrong_ends_in_its_code_with_words(
    http: httpx.Client, spec: str, path: str, code: str, said: str
) -> None:
    envelope = ended(http, submit(http, spec, path))["envelope"]

    assert (envelope["status"], envelope["error"]["code"]) == ("failed", code)
    assert said in envelope["error"]["message"]


def test_an_empty_file_costs_no_token(http: httpx.Client) -> None:
    envelope = ended(http, submit(http, path="texts/empty.txt"))["envelope"]

    assert envelope["result"] == {"summary": "", "windows": 0, "bytes": 0}
    assert envelope["usage"]["tokens_out"] == 0


def test_a_spec_with_a_fault_is_named_and_the_others_serve(http: httpx.Client) -> None:
    answer = http.post("/v1/jobs", json={"spec": "broken", "input": {"path": TEXT}})

    assert answer.status_code == 503
    assert answer.json()["code"] == "spec_unusable"
    assert http.get("/v1/specs/summarize").status_code == 200


def test_a_file_that_is_no_model_is_said_and_fails_only_its_jobs(
    spec_folder: Path, tmp_path: Path
) -> None:
    fake = tmp_path / "fake.gguf"
    fake.write_bytes(b"GGUF" + b"\xff" * 5000)
    arguments = ["--specs", str(spec_folder), "--model", f"smollm2={fake}"]
    with (
        host_process(arguments) as url,
        httpx.Client(base_url=url, timeout=ANSWER_S_MAX) as http,
    ):
        envelope = ended(http, submit(http))["envelope"]
        ready = http.get("/readyz")

    assert envelope["error"]["code"] == "model_load_failed"
    assert ready.status_code == 503
    assert "smollm2" in ready.text
