"""Submissions that may be repeated, wait no longer than they want, and say how they are kept."""

from pathlib import Path

import httpx
import pytest

from api.hosted import Api, Gate, served, spin
from cuttlebone.api.submission_body import SECONDS_MAX
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase, State
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import Json

BODY: dict[str, Json] = {"spec": "echo", "input": 1}


def post(api: Api, body: Json, key: str | None = None) -> httpx.Response:
    return api.http.post(
        "/v1/jobs", json=body, headers={} if key is None else {"Idempotency-Key": key}
    )


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code)


# --- repeating --------------------------------------------------------------------------------


def test_the_same_key_with_the_same_body_is_the_same_job(api: Api) -> None:
    first = post(api, BODY, "k-1")
    api.ended(first.json())
    again = post(api, {"input": 1, "spec": "echo"}, "k-1")

    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Location"] == first.headers["Location"]
    assert again.json()["status"] == "completed"


def test_the_same_key_with_another_body_is_refused(api: Api) -> None:
    post(api, BODY, "k-2")

    refused(post(api, {"spec": "echo", "input": 2}, "k-2"), 422, "idempotency_mismatch")
    refused(post(api, {**BODY, "priority": "interactive"}, "k-2"), 422, "idempotency_mismatch")


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "\x07", "é".encode().decode("latin-1")])
def test_a_key_that_is_none_is_refused(api: Api, key: str) -> None:
    answer = api.http.post(
        "/v1/jobs", json=BODY, headers=[(b"Idempotency-Key", key.encode("latin-1"))]
    )

    assert answer.status_code == 400


def test_a_job_may_be_put_under_an_id_of_ones_own_and_put_again(api: Api) -> None:
    first = api.http.put("/v1/jobs/nightly-2026_01", json=BODY)
    again = api.http.put("/v1/jobs/nightly-2026_01", json=BODY)

    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == "nightly-2026_01"
    assert first.headers["Location"] == "/v1/jobs/nightly-2026_01"
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["created_at"] == first.json()["created_at"]


def test_another_request_under_the_same_id_is_refused(api: Api) -> None:
    api.http.put("/v1/jobs/once-only", json=BODY)

    refused(
        api.http.put("/v1/jobs/once-only", json={"spec": "echo", "input": 2}), 409, "job_exists"
    )


@pytest.mark.parametrize(
    "job_id", ["short12", "x" * 65, "with.dot.in", "blank%20blank", "eight%0A88"]
)
def test_an_id_that_is_none_is_refused(api: Api, job_id: str) -> None:
    refused(api.http.put(f"/v1/jobs/{job_id}", json=BODY), 400, "bad_request")


@pytest.mark.parametrize("job_id", ["eight-88", "x" * 64])
def test_ids_of_every_length_that_is_allowed_are_taken(api: Api, job_id: str) -> None:
    assert api.http.put(f"/v1/jobs/{job_id}", json=BODY).status_code == 202


# --- how a job waits and is kept --------------------------------------------------------------


def test_a_job_shows_what_was_said_of_it(api: Api) -> None:
    body = {**BODY, "priority": "interactive", "ttl_s": 60, "expires_in_s": 600, "record": "full"}
    job = post(api, body).json()

    assert (job["priority"], job["ttl_s"], job["record"]) == ("interactive", 60, "full")
    assert job["expires_at"] > job["created_at"]


def test_a_job_of_which_nothing_was_said_shows_what_holds(api: Api) -> None:
    job = post(api, BODY).json()

    assert (job["priority"], job["ttl_s"], job["record"]) == ("batch", None, "digests")
    assert job["expires_at"] is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("priority", "urgent"),
        ("record", "everything"),
        ("ttl_s", 0),
        ("ttl_s", SECONDS_MAX + 1),
        ("ttl_s", 1.5),
        ("expires_in_s", 0),
        ("expires_in_s", SECONDS_MAX + 1),
        ("expires_in_s", True),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_its_name(
    api: Api, key: str, value: Json
) -> None:
    answer = post(api, {**BODY, key: value})

    refused(answer, 422, "invalid_body")
    assert answer.json()["errors"][0]["pointer"] == f"/{key}"


def test_a_job_that_is_not_started_in_time_is_timeout(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}, jobs_running_max=1) as api:
        api.emitted(api.submit("spin"), "spinning")
        ended = api.ended(api.submit("spin", expires_in_s=1))

    assert ended["envelope"]["error"]["code"] == "timeout"
    assert ended["envelope"]["usage"]["duration_ms"] == 0
    assert ended["started_at"] is None


def test_an_interactive_job_goes_before_those_that_wait(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}, jobs_running_max=1) as api:
        api.emitted(api.submit("gate"), "waiting")
        batch = api.submit("gate")
        urgent = api.submit("gate", priority="interactive")
        places = [api.http.get(one["links"]["self"]).json()["queue"] for one in (urgent, batch)]
        gate.open()
        ended = [api.ended(one)["started_at"] for one in (urgent, batch)]

    assert [place["position"] for place in places] == [0, 1]
    assert places[0]["waiting_for"] == "a free job thread"
    assert ended == sorted(ended)


# --- the journal ------------------------------------------------------------------------------


def test_the_journal_has_the_recorded_steps(api: Api) -> None:
    job = api.ended(api.submit("echo", {"a": 1}, record="full"))

    journal = api.http.get(job["links"]["journal"]).json()

    assert journal["id"] == job["id"]
    assert journal["input"] == {"a": 1}
    assert [step["command"] for step in journal["steps"]] == ["emit"]
    assert journal["steps"][0]["command_json"] == '{"cmd":"emit","progress":{"step":1}}'
    assert journal["envelope"] == job["envelope"]


# --- forgetting -------------------------------------------------------------------------------


def test_a_job_that_has_ended_is_forgotten_on_request(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    answer = api.http.delete(job["links"]["self"])

    assert (answer.status_code, answer.content) == (204, b"")
    for link in ("self", "events", "result", "journal"):
        refused(api.http.get(job["links"][link]), 404, "unknown_job")
    refused(api.http.delete(job["links"]["self"]), 404, "unknown_job")


def test_a_job_that_lives_is_not_forgotten(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}, jobs_running_max=1) as api:
        running, queued = api.submit("spin"), api.submit("spin")
        api.emitted(running, "spinning")
        for job in (running, queued):
            answer = api.http.delete(job["links"]["self"])
            refused(answer, 409, "not_final")
            assert int(answer.headers["Retry-After"]) > 0
            assert api.http.get(job["links"]["self"]).status_code == 200


def test_a_listing_goes_on_though_the_last_job_seen_was_forgotten(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        jobs = [api.ended(api.submit("echo", number)) for number in range(3)]
        page = api.http.get("/v1/jobs", params={"limit": 2}).json()
        api.http.delete(jobs[1]["links"]["self"])
        rest = api.http.get("/v1/jobs", params={"cursor": page["cursor"]}).json()

    assert [one["id"] for one in rest["jobs"]] == [jobs[0]["id"]]


# --- tags -------------------------------------------------------------------------------------


def test_a_job_that_has_not_changed_is_not_sent_again(api: Api) -> None:
    job = api.ended(api.submit("echo"))
    tag = api.http.get(job["links"]["self"]).headers["ETag"]

    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = api.http.get(job["links"]["self"], headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["ETag"] == tag
    answer = api.http.get(job["links"]["self"], headers={"If-None-Match": '"other"'})
    assert (answer.status_code, answer.json()) == (200, job)


def test_a_wait_ends_with_the_job_once_it_has_changed(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}) as api:
        job = api.submit("gate")
        api.emitted(job, "waiting")
        tag = api.http.get(job["links"]["self"]).headers["ETag"]
        known = {"If-None-Match": tag}
        same = api.http.get(job["links"]["self"], params={"wait": 0.1}, headers=known)
        gate.open()
        changed = api.http.get(job["links"]["self"], params={"wait": 20}, headers=known)

    assert same.status_code == 304
    assert same.headers["Retry-After"] == "1"
    assert (changed.status_code, changed.json()["status"]) == (200, "completed")
    assert changed.headers["ETag"] != tag


def test_a_waiting_job_says_that_its_model_is_loading(tmp_path: Path) -> None:
    loading = EndpointDirectory({"m": ScriptedEndpoint(state=State(Phase.LOADING))})
    with served(
        tmp_path, {"spin": spin}, endpoints=loading, more="model: m", jobs_running_max=1
    ) as api:
        api.emitted(api.submit("spin"), "spinning")
        waiting = api.submit("spin")["queue"]

    assert waiting["waiting_for"] == "a free job thread, and the model `m`, which is loading"
