"""Refusals: each problem code with its status, from a request that provokes it."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from api.hosted import BOUND_S, Api, served, spin
from cuttlebone.api import HttpServer, create_app, listen
from cuttlebone.api.problems import KINDS
from cuttlebone.errors import ProblemCode, StoreUnavailable
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import Admitted, JobKey, Submission
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.host import Host
from cuttlebone.service.host_status import HostStatus
from cuttlebone.service.job_service import JobService
from cuttlebone_abi import Signature, parse_type
from hosts import write_spec


def problem(answer: httpx.Response, status: int, code: ProblemCode) -> dict[str, Any]:
    """Check what all problem documents have in common; return the document."""
    found: dict[str, Any] = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.status_code == found["status"] == status
    assert found["code"] == code
    assert found["type"] == f"urn:cuttlebone:problem:{code}"
    assert found["title"] == KINDS[code].title
    assert found["instance"] == answer.request.url.raw_path.decode().partition("?")[0]
    assert found.keys() == {"type", "title", "status", "detail", "code", "instance", "errors"}
    return found


def test_every_problem_code_has_a_status() -> None:
    assert KINDS.keys() == set(ProblemCode)


def test_a_path_that_is_none_is_unknown(api: Api) -> None:
    found = problem(api.http.get("/v1/nothing%0Ahere"), 404, ProblemCode.UNKNOWN_ROUTE)

    assert "/v1/nothing\\nhere" in found["detail"]


def test_a_path_with_a_slash_too_many_is_unknown(api: Api) -> None:
    problem(api.http.get("/v1/jobs/"), 404, ProblemCode.UNKNOWN_ROUTE)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/jobs", "GET, POST"),
        ("POST", "/v1/jobs/x", "DELETE, GET, PUT"),
        ("GET", "/v1/jobs/x/cancel", "POST"),
        ("PUT", "/healthz", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_refused_with_those_that_it_takes(
    api: Api, method: str, path: str, allowed: str
) -> None:
    answer = api.http.request(method, path)

    found = problem(answer, 405, ProblemCode.METHOD_NOT_ALLOWED)
    assert answer.headers["Allow"] == allowed
    assert allowed in found["detail"]


@pytest.mark.parametrize("rest", ["", "/events", "/result", "?wait=1"])
def test_a_job_that_nobody_knows_is_refused(api: Api, rest: str) -> None:
    problem(api.http.get(f"/v1/jobs/0{rest}"), 404, ProblemCode.UNKNOWN_JOB)


def test_a_job_that_nobody_knows_cannot_be_cancelled(api: Api) -> None:
    problem(api.http.post("/v1/jobs/0/cancel"), 404, ProblemCode.UNKNOWN_JOB)


def test_an_id_longer_than_any_is_refused(api: Api) -> None:
    problem(api.http.get(f"/v1/jobs/{'x' * 257}"), 400, ProblemCode.BAD_REQUEST)


def test_a_spec_that_nobody_knows_is_refused(api: Api) -> None:
    problem(api.http.get("/v1/specs/nothing"), 404, ProblemCode.UNKNOWN_SPEC)
    answer = api.http.post("/v1/jobs", json={"spec": "nothing", "input": 1})
    problem(answer, 404, ProblemCode.UNKNOWN_SPEC)


def test_a_spec_with_a_fault_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        write_spec(tmp_path, "broken", "modle: none")

        problem(api.http.get("/v1/specs/broken"), 503, ProblemCode.SPEC_UNUSABLE)
        answer = api.http.post("/v1/jobs", json={"spec": "broken", "input": 1})
        problem(answer, 503, ProblemCode.SPEC_UNUSABLE)


def test_an_input_that_does_not_fit_is_refused_with_pointers_into_the_body(tmp_path: Path) -> None:
    signature = Signature(input=parse_type("{path: text}"))
    with served(tmp_path, signature=signature) as api:
        answer = api.http.post("/v1/jobs", json={"spec": "echo", "input": {"path": 1}})

        found = problem(answer, 422, ProblemCode.SCHEMA_VALIDATION_FAILED)
        assert found["errors"] == [
            {"pointer": "/input/path", "message": "should be text, but is a number"}
        ]
        assert api.http.get("/v1/jobs").json()["jobs"] == []


def test_a_result_that_is_not_there_yet_is_refused_with_a_time_to_come_back(
    tmp_path: Path,
) -> None:
    with served(tmp_path) as api:
        answer = api.http.get(api.submit("spin")["links"]["result"])

    problem(answer, 409, ProblemCode.NOT_FINAL)
    assert answer.headers["Retry-After"] == "1"


def test_a_full_queue_refuses_with_a_time_to_come_back_and_loses_nothing(tmp_path: Path) -> None:
    with served(tmp_path, {"spin": spin}, jobs_running_max=1, jobs_waiting_max=1) as api:
        api.emitted(api.submit("spin"), "spinning")
        api.submit("spin")

        answer = api.http.post("/v1/jobs", json={"spec": "spin", "input": 1})

        problem(answer, 429, ProblemCode.QUEUE_FULL)
        assert int(answer.headers["Retry-After"]) > 0
        assert len(api.http.get("/v1/jobs").json()["jobs"]) == 2


def test_a_host_without_its_specs_folder_says_so(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    with served(specs) as api:
        specs.rename(tmp_path / "elsewhere")

        found = problem(api.http.get("/v1/specs"), 503, ProblemCode.MISCONFIGURED)

    assert "the operator of this host has to mend this" in found["detail"]
    assert str(specs) in found["detail"]


@contextmanager
def served_after_its_end(folder: Path) -> Iterator[httpx.Client]:
    """A server whose host has been closed under it."""
    with served(folder) as api:
        host = api.host
    with over(host) as http:
        yield http


@contextmanager
def over(host: Host) -> Iterator[httpx.Client]:
    app = create_app(host, version="0")
    with (
        listen("127.0.0.1", 0) as listener,
        HttpServer(app, listener, grace_s=1) as server,
        httpx.Client(base_url=server.url, timeout=BOUND_S) as http,
    ):
        yield http


def test_a_host_that_is_stopping_accepts_nothing(tmp_path: Path) -> None:
    with served_after_its_end(tmp_path) as http:
        answer = http.post("/v1/jobs", json={"spec": "echo", "input": 1})

    problem(answer, 503, ProblemCode.STOPPING)
    assert int(answer.headers["Retry-After"]) > 0


class BrokenStatus(HostStatus):
    """A host status with a bug."""

    def __init__(self) -> None:
        """Leave everything out but what counts."""
        self.metrics = HostMetrics()


def test_a_fault_of_the_host_is_a_500_with_a_reference_to_the_log(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(api.host, status=BrokenStatus())
    with structlog.testing.capture_logs() as logs, over(broken) as http:
        answer = http.get("/readyz")

    found = problem(answer, 500, ProblemCode.INTERNAL)
    (line,) = [one for one in logs if one["log_level"] == "error"]
    assert line["reference"] in found["detail"]
    assert (line["method"], line["path"]) == ("GET", "/readyz")
    assert line["exc_info"]
    assert "Traceback" not in answer.text
    assert "AttributeError" not in answer.text
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


class LosesItsLog(JobService):
    """A job service whose event logs cannot be read."""

    def __init__(self, whole: JobService) -> None:
        """Take everything else from a service that works."""
        vars(self).update(vars(whole))

    def events(self, key: JobKey, *, after: int) -> Sequence[JobEvent]:
        raise RuntimeError(f"the log of {key.id} after {after} is gone")


def test_a_fault_in_the_middle_of_a_stream_cuts_it_and_is_logged(tmp_path: Path) -> None:
    told: list[str] = []
    with structlog.testing.capture_logs() as logs, served(tmp_path) as api:
        job = api.ended(api.submit("echo"))
        with over(replace(api.host, jobs=LosesItsLog(api.host.jobs))) as http:
            cut = pytest.raises(httpx.RemoteProtocolError, match="incomplete")
            with cut, http.stream("GET", job["links"]["events"]) as answer:
                told.extend(answer.iter_lines())

    assert "event: snapshot" in told
    assert "event: result" not in told
    assert [one["path"] for one in logs if one["log_level"] == "error"] == [job["links"]["events"]]


def test_a_host_goes_on_after_a_fault(api: Api) -> None:
    broken = replace(api.host, status=BrokenStatus())
    with structlog.testing.capture_logs(), over(broken) as http:
        http.get("/readyz")

        assert http.get("/healthz").status_code == 200


class KeepsNothing(JobService):
    """A job service whose store is full."""

    def __init__(self, whole: JobService) -> None:
        """Take everything else from a service that works."""
        vars(self).update(vars(whole))

    def admit(
        self,
        submission: Submission,  # noqa: ARG002  # it keeps nothing, whatever is asked
        *,
        idempotency_key: str | None = None,  # noqa: ARG002  # it keeps nothing, whatever is asked
        tenant_waiting_max: int | None = None,  # noqa: ARG002  # it keeps nothing, whatever is asked
    ) -> Future[Admitted]:
        raise StoreUnavailable("database or disk is full")


def test_a_job_that_cannot_be_kept_is_not_accepted(api: Api) -> None:
    with over(replace(api.host, jobs=KeepsNothing(api.host.jobs))) as http:
        answer = http.post("/v1/jobs", json={"spec": "echo", "input": 1})

    found = problem(answer, 507, ProblemCode.STORE_UNAVAILABLE)
    assert "database or disk is full" in found["detail"]
    assert int(answer.headers["Retry-After"]) > 0
