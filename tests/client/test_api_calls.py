"""What the client asks for, and how it reads the answers."""

import json
from datetime import UTC, datetime

import pytest

from client.scripted import ScriptedHost, refusal
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.client import Client, NoHost, Refused, SubmitOptions, Unreachable
from cuttlebone.client.api_calls import ANSWER_BYTES_MAX
from cuttlebone.client.exchange import PAUSES_S
from cuttlebone.client.resumption import FAILURES_MAX
from cuttlebone_abi import Completed, JobStatus

JOBS = read_examples("jobs")
JOB = {**JOBS["running"], "id": "a1"}
FINAL = {**JOBS["completed"], "id": "a1"}
ENVELOPE = read_examples("envelopes")["completed"]


def test_a_submission_carries_spec_input_limits_and_labels(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(202, JOB)
    client.submit("echo", {"path": "a"}, limits={"time_ms": 5}, labels={"who": "me"})
    (request,) = host.requests
    assert (request.method, request.url.path) == ("POST", "/v1/jobs")
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.content) == {
        "spec": "echo",
        "input": {"path": "a"},
        "limits": {"time_ms": 5},
        "labels": {"who": "me"},
    }


def test_a_submission_carries_every_option_that_is_stated(
    client: Client, host: ScriptedHost
) -> None:
    stated: SubmitOptions = {
        "priority": "interactive",
        "ttl_s": 60,
        "expires_in_s": 5,
        "record": "full",
        "callback_url": "https://hooks.example.org/",
    }
    host.will_answer(202, JOB)
    client.submit("echo", 1, **stated)
    assert json.loads(host.requests[0].content) == {"spec": "echo", "input": 1, **stated}


def test_an_id_of_ones_own_is_put_and_needs_no_key(client: Client, host: ScriptedHost) -> None:
    host.will_answer(202, JOB)
    client.submit("echo", 1, job_id="my-job-1")
    (request,) = host.requests
    assert (request.method, request.url.path) == ("PUT", "/v1/jobs/my-job-1")
    assert "idempotency-key" not in request.headers


def test_each_submission_has_a_key_of_its_own_unless_one_is_stated(
    client: Client, host: ScriptedHost
) -> None:
    for _ in range(3):
        host.will_answer(202, JOB)
    client.submit("echo", 1)
    client.submit("echo", 1)
    client.submit("echo", 1, idempotency_key="mine")
    keys = [request.headers["idempotency-key"] for request in host.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_a_submission_whose_connection_broke_is_repeated_under_its_key(
    client: Client, host: ScriptedHost
) -> None:
    host.will_hang_up()
    host.will_hang_up()
    host.will_answer(202, JOB)
    assert client.submit("echo", 1).id == "a1"
    assert len({request.headers["idempotency-key"] for request in host.requests}) == 1
    assert host.pauses == list(PAUSES_S)


def test_a_connection_that_always_breaks_is_given_up(client: Client, host: ScriptedHost) -> None:
    for _ in range(len(PAUSES_S) + 1):
        host.will_hang_up()
    with pytest.raises(Unreachable, match="server disconnected"):
        client.submit("echo", 1)


def test_forgetting_is_not_repeated(client: Client, host: ScriptedHost) -> None:
    host.will_hang_up()
    with pytest.raises(Unreachable):
        client.forget("a1")
    assert [request.method for request in host.requests] == ["DELETE"]


def test_a_block_is_forgotten_by_its_digest_in_either_form(
    client: Client, host: ScriptedHost
) -> None:
    for digest in ("sha256:abc", "abc", "../jobs"):
        host.will_answer(204)
        client.forget_block(digest)
    assert [(one.method, one.url.raw_path) for one in host.requests] == [
        ("DELETE", b"/v1/blocks/abc"),
        ("DELETE", b"/v1/blocks/abc"),
        ("DELETE", b"/v1/blocks/..%2Fjobs"),
    ]


def test_to_run_is_to_submit_and_to_wait_for_the_envelope(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(202, JOB)
    host.will_answer(200, FINAL)
    assert isinstance(client.run("echo", 1), Completed)


def test_waiting_goes_on_while_the_host_is_started_again(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(200, JOB)
    host.will_answer(503, refusal("stopping"))
    host.will_answer(503, refusal("too_many_connections"))
    host.will_break()
    host.will_hang_up()
    host.will_answer(200, FINAL)
    assert client.wait("a1").status is JobStatus.COMPLETED


def test_waiting_ends_when_the_host_stays_away(client: Client, host: ScriptedHost) -> None:
    for _ in range(FAILURES_MAX + 1):
        host.will_break()
    with pytest.raises(Unreachable, match="connection refused"):
        client.wait("a1")
    assert len(host.pauses) == FAILURES_MAX


@pytest.mark.parametrize(("status", "answer"), [(404, refusal("unknown_job")), (200, "ok")])
def test_waiting_ends_at_once_where_it_is_no_use(
    client: Client, host: ScriptedHost, status: int, answer: object
) -> None:
    host.will_answer(status, answer)
    with pytest.raises((Refused, NoHost)):
        client.wait("a1")
    assert host.pauses == []


def test_deliveries_are_typed(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, read_examples("deliveries")["delivered"])
    assert [found.state for found in client.deliveries("a1").deliveries] == ["delivered"]


def test_an_input_of_null_is_sent(client: Client, host: ScriptedHost) -> None:
    host.will_answer(202, JOB)
    client.submit("echo", None)
    assert json.loads(host.requests[0].content) == {"spec": "echo", "input": None}


def test_fields_that_this_client_does_not_know_are_ignored(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(200, JOB)
    assert client.job("a1").status is JobStatus.RUNNING


def test_waiting_asks_again_until_the_job_is_final(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, JOB)
    host.will_answer(200, FINAL)
    job = client.wait("a1")
    assert [request.url.params["wait"] for request in host.requests] == ["60", "60"]
    assert isinstance(job.envelope, Completed)
    assert job.envelope.result == ENVELOPE["result"]


def test_a_wait_is_cut_to_what_the_host_allows(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, FINAL)
    client.job("a1", wait_s=1_000)
    assert host.requests[0].url.params["wait"] == "60"


def test_an_id_cannot_reach_another_route(client: Client, host: ScriptedHost) -> None:
    host.will_answer(202, JOB)
    client.cancel("../../specs?x=#")
    assert host.requests[0].url.raw_path == b"/v1/jobs/..%2F..%2Fspecs%3Fx%3D%23/cancel"


def test_a_listing_names_only_the_filters_that_were_given(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(200, {"jobs": [JOB], "cursor": "next"})
    page = client.jobs(status=JobStatus.RUNNING, label="who=me")
    assert dict(host.requests[0].url.params) == {
        "status": "running",
        "label": "who=me",
        "limit": "50",
    }
    assert (page.jobs[0].id, page.cursor) == ("a1", "next")


def test_a_selection_states_each_of_several_values(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, {"jobs": [], "count": 7})
    moment = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)

    page = client.jobs(
        envelopes=True,
        count=True,
        status=(JobStatus.FAILED, JobStatus.CANCELLED),
        label=["a=1", "b=2"],
        created_after=moment,
        error_code="timeout",
    )

    assert host.requests[0].url.params.multi_items() == [
        ("status", "failed"),
        ("status", "cancelled"),
        ("label", "a=1"),
        ("label", "b=2"),
        ("created_after", "2026-01-31T09:30:00+00:00"),
        ("error_code", "timeout"),
        ("limit", "50"),
        ("include", "envelope"),
        ("count", "true"),
    ]
    assert page.count == 7


def test_all_jobs_are_those_of_every_page(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, {"jobs": [JOB, {**JOB, "id": "a2"}], "cursor": "next"})
    host.will_answer(200, {"jobs": [{**JOB, "id": "a3", "envelope": ENVELOPE}], "cursor": None})

    found = list(client.all_jobs(label="who=me", envelopes=True))

    assert [job.id for job in found] == ["a1", "a2", "a3"]
    assert isinstance(found[2].envelope, Completed)
    assert [request.url.params.get("cursor") for request in host.requests] == [None, "next"]
    assert {request.url.params["label"] for request in host.requests} == {"who=me"}


def test_a_wait_for_many_jobs_asks_until_none_is_left_and_returns_all(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(200, {"jobs": [], "pending": 2})
    host.will_answer(503, refusal("stopping"))
    host.will_answer(200, {"jobs": [JOB], "pending": 0})
    host.will_answer(200, {"jobs": [{**JOB, "envelope": ENVELOPE}]})

    found = client.wait_all(label="who=me", envelopes=True)

    assert [job.id for job in found] == ["a1"]
    assert [request.url.params.get("wait") for request in host.requests] == ["60"] * 3 + [None]
    assert {request.url.params["label"] for request in host.requests} == {"who=me"}
    assert len(host.pauses) == 1


def test_many_jobs_are_cancelled_and_forgotten_at_once(client: Client, host: ScriptedHost) -> None:
    host.will_answer(202, {"jobs": 3})
    host.will_answer(200, {"jobs": 2})

    assert (client.cancel_all(label="who=me"), client.forget_all(spec="echo")) == (3, 2)
    assert [request.url.raw_path for request in host.requests] == [
        b"/v1/jobs/cancel?label=who%3Dme",
        b"/v1/jobs/forget?spec=echo",
    ]


def test_the_envelope_is_read_as_its_kind(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, ENVELOPE)
    assert isinstance(client.result("a1"), Completed)


def test_specs_and_models_are_lists(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, read_examples("spec_list")["specs"])
    host.will_answer(200, read_examples("model_list")["models"])
    listed = client.specs()
    assert [spec.name for spec in listed.specs] == ["summarize"]
    assert [spec.file for spec in listed.unusable] == ["translate.yaml"]
    assert [model.role for model in client.models()] == ["smollm2"]


def test_a_spec_says_what_its_jobs_take_and_may_do(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, read_examples("spec_list")["specs"])
    (spec,) = client.specs().specs
    assert (spec.signature.input, spec.model) == ("{path: text}", "smollm2")
    assert spec.input_schema == {
        "type": "object",
        "required": ["path"],
        "properties": {"path": {"type": "string"}},
    }
    assert (spec.limits.time_ms, spec.grants.read) == (30_000, ["./texts"])


def test_a_block_says_its_signature_and_who_runs_it(client: Client, host: ScriptedHost) -> None:
    host.will_answer(200, read_examples("block_list")["blocks"])
    (block,) = client.blocks()
    assert (block.signature.input, block.specs) == ("{path: text}", ["summarize"])


def test_what_a_newer_host_says_besides_is_left_aside(client: Client, host: ScriptedHost) -> None:
    newer = {"limits": {**JOB["limits"], "watts": 5}, "priority": "leisure", "colour": "green"}
    host.will_answer(200, {**JOB, **newer})
    job = client.job("a1")
    assert (job.limits.time_ms, job.priority) == (30_000, "leisure")


def test_what_an_older_host_leaves_out_has_no_value(client: Client, host: ScriptedHost) -> None:
    known = {name: value for name, value in JOB.items() if name not in {"progress", "expires_at"}}
    host.will_answer(200, known)
    job = client.job("a1")
    assert (job.progress, job.expires_at) == (None, None)


def test_a_problem_document_is_a_refusal_with_all_that_it_says(
    client: Client, host: ScriptedHost
) -> None:
    fault = {"pointer": "/input/path", "message": "missing"}
    problem = refusal("schema_validation_failed", "the input does not fit", fault)
    host.will_answer(422, problem, retry_after="5")
    with pytest.raises(Refused, match="does not fit") as caught:
        client.submit("echo", {})
    assert (caught.value.status, caught.value.code) == (422, "schema_validation_failed")
    assert [(one.pointer, one.message) for one in caught.value.faults] == [
        ("/input/path", "missing")
    ]
    assert caught.value.retry_after_s == 5


def test_an_error_that_is_no_problem_document_is_shown_as_it_is(
    client: Client, host: ScriptedHost
) -> None:
    host.will_answer(502, "\x1b[2Jbad gateway")
    with pytest.raises(Refused, match="status 502") as caught:
        client.models()
    assert "\x1b" not in caught.value.message
    assert "bad gateway" in caught.value.message


def test_a_host_that_does_not_answer_is_unreachable(client: Client, host: ScriptedHost) -> None:
    host.will_break()
    with pytest.raises(Unreachable, match=r"http://host\.test: connection refused; start one"):
        client.models()


@pytest.mark.parametrize("answer", [[], {"id": "a1"}, "ok", JOB | {"status": "sleeping"}])
def test_an_answer_of_another_shape_is_no_host(
    client: Client, host: ScriptedHost, answer: object
) -> None:
    host.will_answer(200, answer)
    with pytest.raises(Unreachable, match="not a Cuttlebone host"):
        client.job("a1")


def test_an_answer_has_a_greatest_size(client: Client, host: ScriptedHost) -> None:
    host.will_send("x" * (ANSWER_BYTES_MAX + 1))
    with pytest.raises(Unreachable, match=f"more than {ANSWER_BYTES_MAX} bytes"):
        client.job("a1")


def test_a_journal_may_be_larger_than_any_other_answer(client: Client, host: ScriptedHost) -> None:
    host.will_send("x" * (ANSWER_BYTES_MAX + 1), "application/json")
    assert len(client.journal("a1")) == ANSWER_BYTES_MAX + 1
