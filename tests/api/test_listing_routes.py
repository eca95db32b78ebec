"""Many jobs over HTTP: listed, counted, cancelled and forgotten by what they have in common."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.hosted import BOUND_S, SCRIPTS, Api, Gate, served
from cuttlebone.api.job_pages import ENVELOPE_BYTES_MAX
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["jobs"]]


# --- listing ----------------------------------------------------------------------------------


def test_jobs_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        ids = [api.submit("echo", number)["id"] for number in range(5)]
        seen: list[str] = []
        cursor = None
        for _ in range(3):
            query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            page = api.http.get("/v1/jobs", params=query).json()
            seen.extend(job["id"] for job in page["jobs"])
            cursor = page["cursor"]

    assert seen == ids[::-1]
    assert cursor is None


def test_a_last_page_that_is_full_has_no_cursor(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.submit("echo")
        api.submit("echo")

        page = api.http.get("/v1/jobs", params={"limit": 2}).json()

    assert (len(page["jobs"]), page["cursor"]) == (2, None)


def test_jobs_are_found_by_status_spec_and_label(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        red = api.ended(api.submit("echo", labels={"team": "red=hot"}))
        failed = api.ended(api.submit("give-up", labels={"team": "blue"}))

        def ids(**query: str) -> list[str]:
            found = api.http.get("/v1/jobs", params=query).json()
            return [job["id"] for job in found["jobs"]]

        assert ids(label="team=red=hot") == [red["id"]]
        assert ids(status="failed") == [failed["id"]]
        assert ids(spec="echo") == [red["id"]]
        assert ids(spec="echo", status="failed") == []


def test_a_listing_leaves_out_what_may_be_large(api: Api) -> None:
    api.ended(api.submit("echo", "x" * 1000))

    job = api.http.get("/v1/jobs").json()["jobs"][0]

    assert "progress" not in job
    assert job["envelope"] is None


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "201"},
        {"status": "asleep"},
        {"label": "no-value"},
        {"created_after": "2026-01-31T09:30:00"},
        {"created_before": "yesterday"},
        {"error_code": "x" * 65},
        {"include": "all"},
        {"count": "perhaps"},
        {"spek": "echo"},
        {"labels": "team=x"},
        {"cursor": "!"},
        {"cursor": "eyJhIjoxfQ"},
        {"cursor": "é"},
    ],
)
def test_a_listing_that_makes_no_sense_is_refused_by_the_name_of_the_parameter(
    api: Api, query: dict[str, str]
) -> None:
    answer = api.http.get("/v1/jobs", params=query)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert f"`{next(iter(query))}` in the query" in answer.json()["detail"]


def test_a_key_of_the_query_that_is_misspelt_is_refused_with_the_right_one(api: Api) -> None:
    answer = api.http.get("/v1/jobs", params={"labl": "team=x"})

    assert answer.json()["detail"] == "`labl` in the query: unknown key; did you mean `label`?"


def test_a_key_of_the_query_that_a_route_does_not_know_is_refused_everywhere(api: Api) -> None:
    for path in ("/v1/jobs/some-job", "/v1/specs", "/v1/models", "/healthz"):
        answer = api.http.get(path, params={"verbose": "1"})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), path


def test_jobs_have_all_labels_and_one_of_the_specs_and_statuses(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        both = api.ended(api.submit("echo", labels={"team": "x", "day": "1"}))
        lost = api.ended(api.submit("give-up", labels={"team": "x", "day": "2"}))
        say = api.ended(api.submit("say", [], labels={"team": "y"}))

        def found(*query: tuple[str, str]) -> list[str]:
            return ids(api.http.get("/v1/jobs", params=query))

        assert found(("label", "team=x"), ("label", "day=1")) == [both["id"]]
        assert found(("spec", "echo"), ("spec", "say")) == [say["id"], both["id"]]
        assert found(("status", "failed"), ("status", "cancelled")) == [lost["id"]]
        assert found(("error_code", "no_luck")) == [lost["id"]]
        assert found(("created_after", both["created_at"]), ("label", "team=x")) == [lost["id"]]
        assert found(("created_before", lost["created_at"])) == [both["id"]]


def test_two_values_of_one_label_never_hold(api: Api) -> None:
    answer = api.http.get("/v1/jobs", params=[("label", "team=x"), ("label", "team=y")])

    assert answer.status_code == 400
    assert "one value of `team`" in answer.json()["detail"]


@pytest.mark.parametrize(("key", "values"), [("label", 17), ("spec", 17), ("status", 6)])
def test_a_query_names_so_many_and_no_more(api: Api, key: str, values: int) -> None:
    value = {"label": "k{}=v", "spec": "s{}", "status": "failed"}[key]
    stated = tuple((key, value.format(number)) for number in range(values))

    assert api.http.get("/v1/jobs", params=stated).status_code == 400
    assert api.http.get("/v1/jobs", params=stated[1:]).status_code == 200


def test_a_page_shows_how_jobs_ended_and_how_many_there_are_if_asked(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        for number in range(3):
            api.ended(api.submit("echo", number))

        query = {"include": "envelope", "count": "true", "limit": "2"}
        page = api.http.get("/v1/jobs", params=query).json()

    assert [job["envelope"]["result"] for job in page["jobs"]] == [2, 1]
    assert page["count"] == 3
    assert page["cursor"] is not None


def test_a_page_of_large_envelopes_is_shorter_and_none_is_left_out(tmp_path: Path) -> None:
    size = ENVELOPE_BYTES_MAX // 5 * 2

    def large(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "done", "result": "x" * size}

    with served(tmp_path, {"large": large}, more="limits: {command_bytes: 8388608}") as api:
        jobs = [api.ended(api.submit("large"))["id"] for _ in range(4)]
        query = {"include": "envelope"}
        first = api.http.get("/v1/jobs", params=query)
        rest = api.http.get("/v1/jobs", params={**query, "cursor": first.json()["cursor"]})

    assert (len(ids(first)), len(ids(rest))) == (3, 1)
    assert [*ids(first), *ids(rest)] == jobs[::-1]
    assert rest.json()["cursor"] is None


# --- waiting ----------------------------------------------------------------------------------


def waiting(api: Api, answers: list[httpx.Response], **query: str) -> threading.Thread:
    def ask() -> None:
        answers.append(api.http.get("/v1/jobs", params={"wait": "60", **query}))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_wait_ends_when_none_of_the_jobs_is_live_those_that_came_meanwhile_among_them(
    tmp_path: Path, kind: str
) -> None:
    first, second, other = Gate(), Gate(), Gate()
    scripts = {"one": first.script, "two": second.script, "other": other.script}
    state = tmp_path / "state" if kind == "sqlite" else None
    with served(tmp_path, scripts, state=state) as api:
        api.submit("other")
        api.submit("one", labels={"run": "7"})
        answers: list[httpx.Response] = []
        thread = waiting(api, answers, label="run=7")
        api.followed_by(1)
        late = api.submit("two", labels={"run": "7"})
        first.open()
        api.emitted(late, "waiting")
        assert not answers
        second.open()
        thread.join(BOUND_S)
        page = answers[0].json()
        other.open()

    assert page["pending"] == 0
    assert [job["status"] for job in page["jobs"]] == ["completed"] * 2


def test_a_wait_for_jobs_that_is_too_short_says_how_many_are_left(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.submit("spin", labels={"run": "7"})

        query = {"label": "run=7", "wait": "0.05"}
        assert api.http.get("/v1/jobs", params=query).json()["pending"] == 1
        assert api.http.get("/v1/jobs", params={**query, "label": "run=8"}).json()["pending"] == 0
        assert api.http.get("/v1/jobs").json()["pending"] is None


def test_a_host_that_stops_answers_who_waits_for_jobs(tmp_path: Path) -> None:
    answers: list[httpx.Response] = []
    with served(tmp_path) as api:
        api.emitted(api.submit("spin"), "spinning")
        thread = waiting(api, answers)
        api.followed_by(1)
        api.server.stop()
        thread.join(BOUND_S)

    assert answers[0].json()["pending"] == 1


@pytest.mark.parametrize("more", [{"status": "failed"}, {"cursor": "x"}, {"wait": "61"}])
def test_a_wait_that_makes_no_sense_is_refused(api: Api, more: dict[str, str]) -> None:
    answer = api.http.get("/v1/jobs", params={"wait": "1", **more})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "`wait` in the query" in answer.json()["detail"]


# --- cancelling and forgetting ----------------------------------------------------------------


def test_jobs_are_cancelled_by_what_they_have_in_common(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {**SCRIPTS, "gate": gate.script}, jobs_running_max=1) as api:
        kept = api.submit("gate")
        api.emitted(kept, "waiting")
        mine = [api.submit("echo", labels={"run": "7"}) for _ in range(3)]

        answer = api.http.post("/v1/jobs/cancel", params={"label": "run=7"})
        again = api.http.post("/v1/jobs/cancel", params={"label": "run=7"})
        ended = [api.ended(job)["envelope"]["error"]["code"] for job in mine]
        gate.open()
        other = api.ended(kept)

    assert (answer.status_code, answer.json()) == (202, {"jobs": 3})
    assert again.json() == {"jobs": 0}
    assert ended == ["cancelled"] * 3
    assert other["status"] == "completed"


def test_running_jobs_are_cancelled_with_the_others(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        running = api.submit("spin", labels={"run": "7"})
        api.emitted(running, "spinning")

        answer = api.http.post("/v1/jobs/cancel", params={"spec": "spin"})

        assert answer.json() == {"jobs": 1}
        assert api.ended(running)["status"] == "cancelled"


def test_jobs_that_have_ended_are_forgotten_by_what_they_have_in_common(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {**SCRIPTS, "gate": gate.script}) as api:
        live = api.submit("gate", labels={"run": "7"})
        for _ in range(2):
            api.ended(api.submit("echo", labels={"run": "7"}))
        other = api.ended(api.submit("echo"))

        answer = api.http.post("/v1/jobs/forget", params={"label": "run=7"})
        left = ids(api.http.get("/v1/jobs"))
        gate.open()

    assert (answer.status_code, answer.json()) == (200, {"jobs": 2})
    assert left == [other["id"], live["id"]]


@pytest.mark.parametrize("act", ["cancel", "forget"])
@pytest.mark.parametrize("query", [{}, {"labl": "run=7"}, {"limit": "1"}])
def test_all_jobs_are_meant_only_by_whoever_says_so(
    api: Api, act: str, query: dict[str, Any]
) -> None:
    answer = api.http.post(f"/v1/jobs/{act}", params=query)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
