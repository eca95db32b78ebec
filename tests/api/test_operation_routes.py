"""Callbacks through the API: who may be called, and what is shown of it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.hosted import BOUND_S, Api, served
from receiving import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def api(tmp_path: Path, receiver: Receiver) -> Iterator[Api]:
    specs = tmp_path / "specs"
    specs.mkdir()
    hosts = (f"127.0.0.1:{receiver.port}",)
    with served(specs, state=tmp_path / "state", callback_hosts=hosts) as running:
        yield running


def test_the_end_of_a_job_is_told_and_every_attempt_is_shown(api: Api, receiver: Receiver) -> None:
    job = api.submit("echo", "a", callback_url=f"{receiver.url}/end")
    api.ended(job)
    (request,) = receiver.received()
    for _ in range(2_000):
        shown = api.http.get(f"/v1/jobs/{job['id']}/deliveries").json()
        if shown["deliveries"][0]["state"] != "pending":
            break
    (delivery,) = shown["deliveries"]
    assert shown["callback_url"] == f"{receiver.url}/end"
    assert (delivery["state"], delivery["next_attempt_at"]) == ("delivered", None)
    assert delivery["id"] == request.headers["webhook-id"]
    assert [one["status"] for one in delivery["attempts"]] == [204]


def test_a_callback_to_a_host_that_is_not_listed_is_refused_with_a_pointer(api: Api) -> None:
    body = {"spec": "echo", "input": 1, "callback_url": "https://evil.test/"}
    answer = api.http.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid_body"
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/callback_url"]
    assert api.http.get("/v1/jobs").json()["jobs"] == []


def test_a_job_without_a_callback_has_no_deliveries(api: Api) -> None:
    job = api.ended(api.submit("echo"))
    shown = api.http.get(f"/v1/jobs/{job['id']}/deliveries").json()
    assert shown == {"callback_url": None, "deliveries": []}


def test_a_job_shows_its_callback_as_submitted_and_what_became_of_it(
    api: Api, receiver: Receiver
) -> None:
    url = f"{receiver.url}/end?for=me"
    job = api.submit("echo", "a", callback_url=url)
    api.ended(job)
    receiver.received()
    states = []
    for _ in range(2_000):
        answer = api.http.get(job["links"]["self"])
        states.append(answer.json()["callback_state"])
        if states[-1] == "delivered":
            break

    assert (job["callback_url"], job["callback_state"]) == (url, None)
    assert answer.json()["callback_url"] == url
    assert set(states) <= {"pending", "delivered"}
    assert states[-1] == "delivered"


def test_a_job_whose_callback_arrives_has_changed(api: Api, receiver: Receiver) -> None:
    arrive = threading.Event()
    receiver.plan.append(lambda: 204 if arrive.wait(BOUND_S) else 500)
    job = api.submit("echo", "a", callback_url=receiver.url)
    api.ended(job)
    receiver.received()
    before = api.http.get(job["links"]["self"])
    tag = {"If-None-Match": before.headers["ETag"]}
    same = api.http.get(job["links"]["self"], headers=tag)

    arrive.set()
    statuses = (api.http.get(job["links"]["self"], headers=tag).status_code for _ in range(2_000))

    assert before.json()["callback_state"] == "pending"
    assert same.status_code == 304
    assert 200 in statuses


def test_a_job_without_a_callback_shows_none(api: Api) -> None:
    job = api.ended(api.submit("echo"))
    assert (job["callback_url"], job["callback_state"]) == (None, None)


@pytest.mark.parametrize("user", ["me@", "me:secret@", ":secret@"])
def test_a_callback_with_a_user_in_it_is_refused(api: Api, receiver: Receiver, user: str) -> None:
    url = receiver.url.replace("://", f"://{user}")
    answer = api.http.post("/v1/jobs", json={"spec": "echo", "input": 1, "callback_url": url})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_body")


def test_deliveries_of_an_unknown_job_are_unknown(api: Api) -> None:
    assert api.http.get("/v1/jobs/nobody/deliveries").json()["code"] == "unknown_job"
