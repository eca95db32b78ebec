"""Jobs over HTTP: submitted, shown, waited for, cancelled, and their envelopes."""

import queue
import threading
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from api.hosted import BOUND_S, Api, Gate, served, spin
from cuttlebone.api.long_poll import WAIT_S_MAX
from cuttlebone_abi import decode_envelope, load_json

HUGE = 2**200 + 1


def test_a_submission_is_accepted_with_the_whole_job_and_where_to_find_it(api: Api) -> None:
    answer = api.http.post("/v1/jobs", json={"spec": "echo", "input": 1, "labels": {"team": "x"}})

    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == job["links"]["self"] == f"/v1/jobs/{job['id']}"
    assert answer.headers["Retry-After"] == "1"
    assert (job["spec"], job["labels"]) == ("echo", {"team": "x"})
    assert datetime.fromisoformat(job["created_at"]).tzinfo is not None


def test_a_job_runs_to_its_envelope(api: Api) -> None:
    job = api.ended(api.submit("echo", {"a": [1, None]}))

    assert job["status"] == "completed"
    assert job["envelope"]["result"] == {"a": [1, None]}
    assert job["progress"] == {"step": 1}
    assert job["attempt"] == 1
    assert job["queue"] is None
    assert job["accounting"]["steps"] == 2
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]


def test_a_job_has_the_same_fields_in_every_state(api: Api) -> None:
    queued = api.submit("echo")

    assert queued.keys() == api.ended(queued).keys()


def test_integers_of_any_size_and_control_characters_survive_the_way_there_and_back(
    api: Api,
) -> None:
    value = {"n": HUGE, "text": "\x00\x1b\r\n\x7f\x85\u2028 🦑"}
    job = api.submit("say", [value])
    api.ended(job)

    shown = load_json(api.http.get(job["links"]["self"]).content)

    assert shown["progress"] == value


def test_the_links_of_a_job_lead_somewhere(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    found = {name: api.http.get(path).status_code for name, path in job["links"].items()}

    assert found == {
        "self": 200,
        "events": 200,
        "result": 200,
        "cancel": 405,
        "journal": 200,
        "spec": 200,
    }


def test_a_request_narrows_the_limits_and_never_widens_them(api: Api) -> None:
    job = api.submit("echo", None, limits={"time_ms": 1_000, "steps": 10**9})

    assert job["limits"]["time_ms"] == 1_000
    assert job["limits"]["steps"] == 100_000


def test_a_job_that_fails_is_no_http_error(api: Api) -> None:
    job = api.submit("give-up")

    answer = api.http.get(job["links"]["self"], params={"wait": min(BOUND_S, WAIT_S_MAX)})

    assert answer.status_code == 200
    assert answer.json()["status"] == "failed"
    assert answer.json()["envelope"]["error"] == {
        "code": "no_luck",
        "message": "it was not my day",
    }


def test_the_result_is_the_envelope_and_nothing_else(api: Api) -> None:
    job = api.ended(api.submit("echo", HUGE))

    answer = api.http.get(job["links"]["result"])

    assert decode_envelope(answer.content).status == "completed"
    assert load_json(answer.content)["result"] == HUGE
    assert list(load_json(answer.content)) == ["status", "result", "usage"]


def test_a_queued_job_says_how_many_go_first(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}, jobs_running_max=1) as api:
        api.emitted(api.submit("spin"), "spinning")
        api.submit("spin")

        second = api.submit("spin")

    assert second["status"] == "queued"
    assert second["queue"] == {"position": 1, "waiting_for": "a free job thread"}


# --- waiting ----------------------------------------------------------------------------------


def test_a_wait_ends_when_the_job_does(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}) as api:
        job = api.submit("gate", 7)
        api.emitted(job, "waiting")
        answers: list[httpx.Response] = []
        waiting = threading.Thread(
            target=lambda: answers.append(api.http.get(job["links"]["self"], params={"wait": 60}))
        )
        waiting.start()
        gate.open()
        waiting.join(BOUND_S)

    assert answers[0].json()["envelope"]["result"] == 7
    assert "Retry-After" not in answers[0].headers


def test_a_wait_that_is_too_short_shows_the_job_as_it_stands(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}) as api:
        job = api.submit("spin")

        answer = api.http.get(job["links"]["self"], params={"wait": 0.05})

    assert answer.status_code == 200
    assert answer.json()["status"] in {"queued", "running"}
    assert answer.headers["Retry-After"] == "1"


def test_waits_hold_no_thread(tmp_path: Path) -> None:
    gate, count = Gate(), 60  # more than the framework has threads for handlers
    with served(tmp_path, {"gate": gate.script}) as api:
        job = api.submit("gate")
        api.emitted(job, "waiting")
        ended: queue.Queue[str] = queue.Queue()

        def wait() -> None:
            found = api.http.get(job["links"]["self"], params={"wait": 60}).json()
            ended.put(found["status"])

        for _ in range(count):
            threading.Thread(target=wait, daemon=True).start()
        api.followed_by(count)
        assert api.http.get(job["links"]["self"]).json()["status"] == "running"
        gate.open()

        assert {ended.get(timeout=BOUND_S) for _ in range(count)} == {"completed"}


@pytest.mark.parametrize("wait", ["61", "-1", "nan", "soon"])
def test_a_wait_has_bounds(api: Api, wait: str) -> None:
    answer = api.http.get(api.submit("echo")["links"]["self"], params={"wait": wait})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "`wait` in the query" in answer.json()["detail"]


# --- cancelling -------------------------------------------------------------------------------


def test_a_running_job_is_cancelled(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        job = api.submit("spin")
        api.emitted(job, "spinning")

        answer = api.http.post(job["links"]["cancel"])
        ended = api.ended(job)

    assert answer.status_code == 202
    assert answer.json()["cancel_requested"]
    assert ended["envelope"]["status"] == ended["status"] == "cancelled"


def test_a_queued_job_is_cancelled_at_once(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}, jobs_running_max=1) as api:
        api.emitted(api.submit("spin"), "spinning")
        job = api.submit("spin")

        answer = api.http.post(job["links"]["cancel"])

    assert answer.status_code == 202
    assert answer.json()["status"] == "cancelled"
    assert answer.json()["started_at"] is None


def test_cancelling_a_job_that_has_ended_changes_nothing(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    answer = api.http.post(job["links"]["cancel"])

    assert answer.status_code == 200
    assert answer.json() == job


def test_cancelling_twice_does_no_harm(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        job = api.submit("spin")
        statuses = [api.http.post(job["links"]["cancel"]).status_code for _ in range(2)]

        assert statuses[0] == 202
        assert statuses[1] in {200, 202}
        assert api.ended(job)["status"] == "cancelled"


def test_a_job_says_what_it_was_accepted_for(api: Api) -> None:
    first, again = (api.submit("echo", value) for value in (1, 2))
    other = api.submit("say", [])
    block = api.http.get("/v1/specs/echo").json()["block"]["digest"]

    assert first["block_sha256"] == block.removeprefix("sha256:")
    assert first["spec_sha256"] == again["spec_sha256"] != other["spec_sha256"]
    recorded = api.http.get(api.ended(first)["links"]["journal"]).json()
    for name in ("block_sha256", "spec_sha256"):
        assert recorded[name] == first[name]
