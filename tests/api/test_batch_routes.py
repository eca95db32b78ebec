"""Many submissions in one request: each line is answered for itself, in its order."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.hosted import BODY_BYTES_MAX, Api, served
from api.test_dependencies import client, guarded
from cuttlebone.api.batch import LINES_MAX

TYPE = {"Content-Type": "application/x-ndjson"}


def lines(*submissions: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in submissions)


def sent(http: httpx.Client, body: bytes) -> httpx.Response:
    return http.post("/v1/jobs/batch", content=body, headers=TYPE)


def answers(http: httpx.Client, body: bytes) -> list[dict[str, Any]]:
    answer = sent(http, body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def echo(value: object, **more: object) -> dict[str, object]:
    return {"spec": "echo", "input": value, **more}


@pytest.mark.parametrize("durable", [False, True])
def test_a_thousand_jobs_are_accepted_in_their_order(tmp_path: Path, *, durable: bool) -> None:
    state = {"state": tmp_path / "state"} if durable else {}
    with served(tmp_path, **state, jobs_waiting_max=2_000) as api:  # type: ignore[arg-type]  # settings of many types
        found = answers(api.http, lines(*(echo(number) for number in range(LINES_MAX))))
        api.ended(found[-1]["job"])
        listed = api.http.get("/v1/jobs", params={"limit": 200, "count": "true"}).json()

    assert [one["line"] for one in found] == list(range(1, LINES_MAX + 1))
    assert {one["status"] for one in found} == {202}
    assert listed["count"] == LINES_MAX
    assert [job["id"] for job in listed["jobs"]] == [one["job"]["id"] for one in found[:-201:-1]]


def test_a_line_that_is_refused_does_the_others_no_harm(api: Api) -> None:
    bad = [
        b'{"spec": "echo"',
        b"",
        lines({"spec": "ecko", "input": 1})[:-1],
        lines(echo(1, colour="red"))[:-1],
        lines(echo("x" * BODY_BYTES_MAX))[:-1],
        lines(echo(1, job_id="short"))[:-1],
    ]
    found = answers(api.http, b"\n".join([lines(echo("first"))[:-1], *bad, lines(echo("last"))]))

    assert [one["status"] for one in found] == [202, 400, 400, 404, 422, 413, 422, 202]
    assert [one["problem"] and one["problem"]["code"] for one in found] == [
        None,
        "malformed_json",
        "malformed_json",
        "unknown_spec",
        "invalid_body",
        "body_too_large",
        "invalid_body",
        None,
    ]
    assert "`body_bytes_max`" in found[5]["problem"]["detail"]
    assert api.ended(found[-1]["job"])["envelope"]["result"] == "last"


def test_a_batch_may_be_repeated_where_its_lines_have_keys_or_ids(api: Api) -> None:
    body = lines(echo(1, idempotency_key="batch-1"), echo(2, job_id="batch-job-2"))

    first, second = answers(api.http, body), answers(api.http, body)
    other = answers(
        api.http, lines(echo(3, idempotency_key="batch-1"), echo(3, job_id="batch-job-2"))
    )

    assert [one["job"]["id"] for one in first] == [one["job"]["id"] for one in second]
    assert [one["replayed"] for one in (*first, *second)] == [False, False, True, True]
    assert first[1]["job"]["id"] == "batch-job-2"
    assert [one["problem"]["code"] for one in other] == ["idempotency_mismatch", "job_exists"]


def test_a_batch_has_no_more_lines_than_allowed_and_at_least_one(api: Api) -> None:
    before = api.http.get("/v1/jobs", params={"count": "true"}).json()["count"]

    over = sent(api.http, lines(*(echo(number) for number in range(LINES_MAX + 1))))
    none = sent(api.http, b"")

    assert (over.status_code, over.json()["code"]) == (400, "limit_exceeded")
    assert (none.status_code, none.json()["code"]) == (422, "invalid_body")
    assert api.http.get("/v1/jobs", params={"count": "true"}).json()["count"] == before


def test_a_batch_has_a_bound_of_its_own(tmp_path: Path) -> None:
    body = lines(*(echo("x" * 1_000) for _ in range(8)))
    with served(tmp_path, batch_body_bytes_max=len(body)) as api:
        assert len(answers(api.http, body)) == 8
        over = sent(api.http, body + b" ")

    assert (over.status_code, over.json()["code"]) == (413, "body_too_large")
    assert "`batch_body_bytes_max`" in over.json()["detail"]


def test_a_batch_is_lines_of_json(api: Api) -> None:
    answer = api.http.post("/v1/jobs/batch", json=echo(1))

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_lines_beyond_what_a_tenant_may_have_waiting_are_refused_by_themselves(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path, jobs_running_max=1, tenant_jobs_waiting_max=3) as (api, tokens):
        mine, other = client(api, tokens, "mine", "a"), client(api, tokens, "other", "b")
        with mine, other:
            spinning = mine.post("/v1/jobs", json={"spec": "spin", "input": 1}).json()
            api.emitted(spinning, "spinning", "a")
            found = answers(mine, lines(*(echo(number) for number in range(5))))
            seen = other.get("/v1/jobs", params={"count": "true"}).json()["count"]
            mine.post("/v1/jobs/cancel", params={"spec": "spin"})

    assert [one["status"] for one in found] == [202] * 3 + [429] * 2
    assert found[-1]["problem"]["code"] == "quota_exceeded"
    assert found[-1]["retry_after_s"] >= 1
    assert seen == 0
