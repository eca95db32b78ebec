"""What counts once may be stated once: two of a kind would mean one thing here and another elsewhere."""

from collections.abc import Sequence

import pytest

from api.hosted import Api
from api.raw import sent
from cuttlebone.api.single_value_middleware import SINGLE_HEADERS

BODY = b'{"spec": "echo", "input": 1}'


def refused(status: int, body: dict[str, str]) -> str:
    assert (status, body["code"]) == (400, "bad_request")
    return body["detail"]


def test_two_idempotency_keys_are_refused_and_no_job_is_made(api: Api) -> None:
    before = api.http.get("/v1/jobs").json()["jobs"]
    two = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]

    answer = api.http.post("/v1/jobs", json={"spec": "echo", "input": 1}, headers=two)

    assert "one `Idempotency-Key` header, this one has 2" in refused(
        answer.status_code, answer.json()
    )
    assert api.http.get("/v1/jobs").json()["jobs"] == before


@pytest.mark.parametrize(
    "name", sorted(set(SINGLE_HEADERS.values()) - {"Content-Length", "Content-Type"})
)
def test_a_header_that_counts_once_is_refused_where_it_is_stated_twice(api: Api, name: str) -> None:
    answer = api.http.get("/v1/jobs", headers=[(name, "1"), (name.lower(), "1")])

    assert f"one `{name}` header, this one has 2" in refused(answer.status_code, answer.json())


def test_two_content_types_are_refused(api: Api) -> None:
    types = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]

    answer = api.http.post("/v1/jobs", content=BODY, headers=types)

    assert "one `Content-Type` header" in refused(answer.status_code, answer.json())


@pytest.mark.parametrize("lengths", ["5", "28"])
def test_two_lengths_are_no_http(api: Api, lengths: str) -> None:
    head = f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 28\r\nContent-Length: {lengths}"

    answer = sent(api, head.encode() + b"\r\nConnection: close\r\n\r\n" + BODY)

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("wait=1&wait=2", "wait"),
        ("wait=1&wait=1", "wait"),
        ("limit=1&%6cimit=2", "limit"),
        ("nobody=1&nobody=2", "nobody"),
    ],
)
def test_a_key_of_a_query_is_stated_once(api: Api, query: str, name: str) -> None:
    answer = api.http.get(f"/v1/jobs?{query}")

    assert f"states `{name}` once, this one has 2" in refused(answer.status_code, answer.json())


@pytest.mark.parametrize(
    "headers",
    [
        [("If-None-Match", '"a"'), ("If-None-Match", '"b"')],
        [("Accept", "application/json"), ("Accept", "text/plain")],
        [("Last-Event-ID", "1"), ("Idempotency-Key", "1")],
    ],
)
def test_what_is_a_list_or_stands_alone_is_taken(
    api: Api, headers: Sequence[tuple[str, str]]
) -> None:
    answer = api.http.get("/v1/jobs?limit=1&status=failed", headers=list(headers))

    assert answer.status_code == 200
