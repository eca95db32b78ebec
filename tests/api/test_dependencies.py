"""Who may do what: tokens, scopes, tenants and quotas over HTTP."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.hosted import SCRIPTS, Api, served
from bounds import scaled
from cuttlebone.access import Authenticator, TokenFile, TokenScope
from cuttlebone.errors import ProblemCode
from cuttlebone.job.job import Submission

ALL = frozenset(TokenScope)
BODY = {"spec": "echo", "input": 1}


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@contextmanager
def guarded(folder: Path, **settings: object) -> Iterator[tuple[Api, TokenFile]]:
    """Serve a host whose file of tokens is there, and empty but for what a test adds."""
    tokens = TokenFile(folder / "state")
    specs = folder / "specs"
    specs.mkdir()
    with served(specs, SCRIPTS, authenticator=Authenticator(tokens), **settings) as api:  # type: ignore[arg-type]  # settings of many types
        yield api, tokens


def client(
    api: Api, tokens: TokenFile, name: str, tenant: str = "local", *scopes: TokenScope
) -> httpx.Client:
    """A client with a token of its own."""
    secret = tokens.add(name, tenant=tenant, scopes=frozenset(scopes) or ALL)
    return httpx.Client(
        base_url=api.server.url, headers=bearer(secret), verify=False, timeout=scaled(30)
    )


def refused(answer: httpx.Response, status: int, code: ProblemCode) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_without_tokens_everybody_on_this_machine_is_served(tmp_path: Path) -> None:
    with guarded(tmp_path) as (api, _):
        assert api.http.post("/v1/jobs", json=BODY).status_code == 202


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer cuttlebone_nothing"},
        {"Authorization": "Bearer"},
        {"Authorization": ""},
        {"Authorization": "Basic Y3V0dGxlOmJvbmU="},
    ],
)
def test_with_a_token_there_is_no_way_in_without_one(
    tmp_path: Path, headers: Mapping[str, str]
) -> None:
    with guarded(tmp_path) as (api, tokens):
        tokens.add("agent", tenant="local", scopes=ALL)
        answers = [
            api.http.request(method, path, headers=headers, json=BODY if method == "POST" else None)
            for method, path in [
                ("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/v1/jobs/x"),
                ("GET", "/v1/jobs/x/events"), ("POST", "/v1/jobs/x/cancel"), ("DELETE", "/v1/jobs/x"),
                ("GET", "/v1/specs"), ("GET", "/v1/models"), ("GET", "/v1/blocks"),
            ]
        ]  # fmt: skip

    for answer in answers:
        refused(answer, 401, ProblemCode.UNAUTHENTICATED)
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="cuttlebone"'


def test_a_token_is_accepted_however_its_scheme_is_written(tmp_path: Path) -> None:
    with guarded(tmp_path) as (api, tokens):
        secret = tokens.add("agent", tenant="local", scopes=ALL)
        answer = api.http.get("/v1/jobs", headers={"Authorization": f"bearer {secret}"})

    assert answer.status_code == 200


def test_health_needs_no_token(tmp_path: Path) -> None:
    with guarded(tmp_path) as (api, tokens):
        tokens.add("agent", tenant="local", scopes=ALL)

        assert api.http.get("/healthz").status_code == 200
        assert api.http.get("/readyz").status_code == 200
        assert api.http.get("/openapi.json").status_code == 200


def test_a_running_host_notices_a_new_token_and_its_end(tmp_path: Path) -> None:
    with guarded(tmp_path) as (api, tokens):
        with client(api, tokens, "agent") as http:
            assert http.get("/v1/jobs").status_code == 200
            tokens.revoke("agent")
            refused(http.get("/v1/jobs"), 401, ProblemCode.UNAUTHENTICATED)
        refused(api.http.get("/v1/jobs"), 401, ProblemCode.UNAUTHENTICATED)


def test_a_host_that_others_reach_serves_nobody_once_its_tokens_are_gone(tmp_path: Path) -> None:
    with served(
        tmp_path, authenticator=Authenticator(TokenFile(tmp_path / "none"), local=False)
    ) as api:
        refused(api.http.get("/v1/jobs"), 401, ProblemCode.UNAUTHENTICATED)


def test_a_damaged_file_of_tokens_lets_nobody_in(tmp_path: Path) -> None:
    with guarded(tmp_path) as (api, tokens), client(api, tokens, "agent") as http:
        tokens.path.write_text("{")
        tokens.path.chmod(0o600)

        refused(http.get("/v1/jobs"), 503, ProblemCode.MISCONFIGURED)


OPERATIONS = {
    TokenScope.SUBMIT: [("POST", "/v1/jobs"), ("PUT", "/v1/jobs/a-job-of-mine")],
    TokenScope.READ: [
        ("GET", "/v1/jobs"), ("GET", "/v1/jobs/x"), ("GET", "/v1/jobs/x/events"),
        ("GET", "/v1/jobs/x/result"), ("GET", "/v1/jobs/x/journal"), ("GET", "/v1/specs"),
        ("GET", "/v1/specs/echo"), ("GET", "/v1/models"), ("GET", "/v1/blocks"),
        ("GET", f"/v1/blocks/{'0' * 64}"),
    ],
    TokenScope.CANCEL: [("POST", "/v1/jobs/x/cancel"), ("DELETE", "/v1/jobs/x")],
    TokenScope.METRICS: [("GET", "/metrics")],
    TokenScope.ADMIN: [("PUT", f"/v1/blocks/{'0' * 64}"), ("DELETE", f"/v1/blocks/{'0' * 64}")],
}  # fmt: skip


@pytest.mark.parametrize("scope", TokenScope)
def test_a_token_does_what_its_scope_says_and_nothing_else(
    tmp_path: Path, scope: TokenScope
) -> None:
    with guarded(tmp_path) as (api, tokens), client(api, tokens, "one", "t", scope) as http:
        for needed, paths in OPERATIONS.items():
            for method, path in paths:
                answer = http.request(
                    method, path, json=BODY if needed is TokenScope.SUBMIT else None
                )
                if needed is scope:
                    assert answer.status_code not in {401, 403}, (method, path)
                else:
                    refused(answer, 403, ProblemCode.MISSING_SCOPE)
                    assert f"`{needed}`" in answer.json()["detail"]


def test_the_job_of_a_tenant_is_unknown_to_others(tmp_path: Path) -> None:
    with (
        guarded(tmp_path) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        job: dict[str, Any] = red.post("/v1/jobs", json=BODY).json()
        red.get(job["links"]["self"], params={"wait": 20})
        answers = [
            blue.get(job["links"]["self"]),
            blue.get(job["links"]["self"], params={"wait": 1}),
            blue.get(job["links"]["events"]),
            blue.get(job["links"]["result"]),
            blue.get(job["links"]["journal"]),
            blue.post(job["links"]["cancel"]),
            blue.delete(job["links"]["self"]),
        ]
        listed = [one.get("/v1/jobs").json()["jobs"] for one in (red, blue)]
        never = blue.get("/v1/jobs/never-was-one").json()

    for answer in answers:
        refused(answer, 404, ProblemCode.UNKNOWN_JOB)
    assert answers[0].json()["title"] == never["title"]
    assert [len(jobs) for jobs in listed] == [1, 0]


def test_an_idempotency_key_belongs_to_its_tenant(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "nightly"}
    with (
        guarded(tmp_path) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        ids = [
            one.post("/v1/jobs", json=BODY, headers=key).json()["id"] for one in (red, blue, red)
        ]

    assert ids[0] == ids[2] != ids[1]


def test_too_many_requests_are_refused_with_a_time_to_come_back(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, token_requests_per_s_max=1) as (api, tokens),
        client(api, tokens, "a") as http,
        client(api, tokens, "b") as other,
    ):
        answers = [http.get("/v1/jobs") for _ in range(20)]
        assert other.get("/v1/jobs").status_code == 200

    over = [one for one in answers if one.status_code != 200]
    assert over
    refused(over[0], 429, ProblemCode.QUOTA_EXCEEDED)
    assert over[0].headers["Retry-After"] == "1"


def test_an_id_belongs_to_its_tenant(tmp_path: Path) -> None:
    with (
        guarded(tmp_path) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        path, wait = "/v1/jobs/same-id-of-two", {"wait": 20}
        for tenant, value in ((red, "red"), (blue, "blue")):
            put = tenant.put(path, json={"spec": "echo", "input": value})
            assert put.status_code == 202
        results = [
            tenant.get(path, params=wait).json()["envelope"]["result"] for tenant in (red, blue)
        ]
        events = [tenant.get(f"{path}/events").text for tenant in (red, blue)]
        assert red.delete(path).status_code == 204
        left = [tenant.get(path).status_code for tenant in (red, blue)]

    assert results == ["red", "blue"]
    assert ['"blue"' in told for told in events] == [False, True]
    assert left == [404, 200]


def test_nothing_that_a_tenant_is_told_of_its_job_depends_on_what_others_do(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, jobs_running_max=1) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        spin = {"spec": "spin", "input": None}
        running = red.post("/v1/jobs", json=spin).json()
        api.emitted(running, "spinning", "red")
        first = blue.post("/v1/jobs", json=spin).json()
        for _ in range(5):
            red.post("/v1/jobs", json=spin)
        second = blue.post("/v1/jobs", json=spin).json()

    assert [job["queue"]["position"] for job in (first, second)] == [0, 1]
    assert {job["queue"]["waiting_for"] for job in (first, second)} == {"a free job thread"}


def test_a_cursor_is_of_its_tenant_and_tells_nothing_of_the_number_of_jobs(tmp_path: Path) -> None:
    with (
        guarded(tmp_path) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        for tenant in (red, blue):
            for _ in range(3):
                tenant.post("/v1/jobs", json=BODY)
        pages = [tenant.get("/v1/jobs?limit=1").json() for tenant in (red, blue)]
        strange = blue.get("/v1/jobs", params={"cursor": pages[0]["cursor"]})
        seals = [base64.urlsafe_b64decode(page["cursor"] + "=") for page in pages]

    refused(strange, 400, ProblemCode.BAD_REQUEST)
    assert [len(seal) for seal in seals] == [20, 20]
    assert not any(bytes([number]) * 4 in seal for seal in seals for number in (0, 3, 6))


def test_a_cursor_leads_on_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    with served(tmp_path / "first", state=state) as api:
        jobs = [api.ended(api.submit("echo", number)) for number in range(3)]
        cursor = api.http.get("/v1/jobs?limit=1").json()["cursor"]
    with served(tmp_path / "second", state=state) as api:
        rest = api.http.get("/v1/jobs", params={"cursor": cursor}).json()["jobs"]

    assert [one["id"] for one in rest] == [jobs[1]["id"], jobs[0]["id"]]


def test_an_admin_names_the_job_of_another_tenant_and_nobody_else_does(tmp_path: Path) -> None:
    with (
        guarded(tmp_path) as (api, tokens),
        client(api, tokens, "a", "red", TokenScope.SUBMIT, TokenScope.READ) as red,
        client(api, tokens, "b", "blue", TokenScope.READ, TokenScope.CANCEL) as blue,
        client(api, tokens, "c", "ops", *TokenScope) as admin,
    ):
        path, whose = "/v1/jobs/same-id-of-two", {"tenant": "red"}
        red.put(path, json=BODY)
        red.get(path, params={"wait": 20})
        for more in ("", "/result", "/journal", "/events", "/deliveries"):
            assert admin.get(path + more, params=whose).status_code == 200, more
            refused(admin.get(path + more), 404, ProblemCode.UNKNOWN_JOB)
            refused(blue.get(path + more, params=whose), 403, ProblemCode.MISSING_SCOPE)
            assert red.get(path + more, params=whose).status_code == 200, more
        listed = [admin.get("/v1/jobs", params=query).json()["jobs"] for query in (whose, {})]
        refused(blue.get("/v1/jobs", params=whose), 403, ProblemCode.MISSING_SCOPE)
        refused(blue.delete(path, params=whose), 403, ProblemCode.MISSING_SCOPE)
        assert admin.post(f"{path}/cancel", params=whose).status_code == 200
        assert admin.delete(path, params=whose).status_code == 204
        refused(red.get(path), 404, ProblemCode.UNKNOWN_JOB)

    assert [[one["id"] for one in page] for page in listed] == [["same-id-of-two"], []]


def test_a_tenant_has_so_many_jobs_waiting(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, jobs_running_max=1, tenant_jobs_waiting_max=1) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        spin = {"spec": "spin", "input": None}
        api.emitted(red.post("/v1/jobs", json=spin).json(), "spinning", "red")
        assert red.post("/v1/jobs", json=spin).status_code == 202
        answer = red.post("/v1/jobs", json=spin)
        refused(answer, 429, ProblemCode.QUOTA_EXCEEDED)
        assert int(answer.headers["Retry-After"]) > 0
        assert blue.post("/v1/jobs", json=spin).status_code == 202


def test_a_tenant_has_so_many_jobs_running_and_a_waiting_one_says_so(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, jobs_running_max=2, tenant_jobs_running_max=1) as (api, tokens),
        client(api, tokens, "a", "red") as red,
        client(api, tokens, "b", "blue") as blue,
    ):
        spin = {"spec": "spin", "input": None}
        api.emitted(red.post("/v1/jobs", json=spin).json(), "spinning", "red")
        second = red.post("/v1/jobs", json=spin).json()
        done = blue.post("/v1/jobs", json=BODY).json()
        ended = blue.get(done["links"]["self"], params={"wait": 20}).json()
        waiting = red.get(second["links"]["self"]).json()

    assert ended["status"] == "completed"
    assert waiting["status"] == "queued"
    assert "tenant_jobs_running_max" in waiting["queue"]["waiting_for"]


def test_a_token_has_so_many_streams_and_waits(tmp_path: Path) -> None:
    with guarded(tmp_path, token_streams_max=1) as (api, tokens), client(api, tokens, "a") as http:
        job = http.post("/v1/jobs", json={"spec": "spin", "input": None}).json()
        with http.stream("GET", job["links"]["events"]) as answer:
            lines = answer.iter_lines()
            next(lines)
            refused(http.get(job["links"]["events"]), 429, ProblemCode.QUOTA_EXCEEDED)
            waiting = http.get(job["links"]["self"], params={"wait": 1})
            refused(waiting, 429, ProblemCode.QUOTA_EXCEEDED)
            assert http.get(job["links"]["self"]).status_code == 200


def test_a_tenant_that_stores_too_much_is_told_to_forget_something(tmp_path: Path) -> None:
    with guarded(tmp_path, tenant_stored_bytes_max=1) as (api, tokens):
        api.host.jobs.submit(Submission("echo", 1, tenant="red"))
        with client(api, tokens, "a", "red") as red, client(api, tokens, "b", "blue") as blue:
            refused(red.post("/v1/jobs", json=BODY), 429, ProblemCode.QUOTA_EXCEEDED)
            assert blue.post("/v1/jobs", json=BODY).status_code == 202
