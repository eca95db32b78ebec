"""Callbacks through the API: who may be called, and what is shown of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.hosted import Api, served
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


def test_deliveries_of_an_unknown_job_are_unknown(api: Api) -> None:
    assert api.http.get("/v1/jobs/nobody/deliveries").json()["code"] == "unknown_job"
