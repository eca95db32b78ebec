"""Bodies of submissions: what is wrong with one is said with a pointer to the place."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.hosted import BODY_BYTES_MAX, Api
from cuttlebone.api.request_body import parse_body
from cuttlebone.api.submission_body import LABELS_MAX, SubmissionBody
from cuttlebone.errors import CallerError
from cuttlebone.text.fault_lists import FAULTS_SHOWN_MAX
from cuttlebone_abi import INTEGER_DIGITS_MAX, JSON_DEPTH_MAX, Json, dump_json, load_json

JSON = {"Content-Type": "application/json"}


def post(api: Api, body: bytes | Iterator[bytes], headers: dict[str, str] = JSON) -> httpx.Response:
    return api.http.post("/v1/jobs", content=body, headers=headers)


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.headers["Content-Type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert (answer.status_code, found["status"], found["code"]) == (status, status, code)
    return found


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "line 1 column 0"),
        (b'{"spec":\n "echo",}', "line 2 column 9"),
        (b'{"spec": NaN}', "line 1 column 10"),
        (b'{"spec": "\xff"}', "line 1 column"),
        (b'{"spec": "\\ud800"}', "line 1 column"),
        (b'{"spec": "echo"} {}', "line 1 column 18"),
    ],
)
def test_a_body_that_is_no_json_is_refused_with_line_and_column(
    api: Api, body: bytes, where: str
) -> None:
    assert where in problem(post(api, body), 400, "malformed_json")["detail"]


def test_a_body_that_nests_too_deeply_is_refused(api: Api) -> None:
    deep = b'{"spec":"echo","input":' + b"[" * JSON_DEPTH_MAX + b"]" * JSON_DEPTH_MAX + b"}"

    assert problem(post(api, deep), 400, "limit_exceeded")["detail"] == (
        "json_depth: nests deeper than 128 levels"
    )


def test_an_integer_of_too_many_digits_is_refused_as_a_command_is() -> None:
    body = b'{"spec":"echo","input":' + b"7" * (INTEGER_DIGITS_MAX + 1) + b"}"

    with pytest.raises(CallerError, match=r"^json_digits: an integer has more than 4300 digits at"):
        parse_body(SubmissionBody, body)


@pytest.mark.parametrize(
    ("body", "pointer", "message"),
    [
        ([], "", "should be an object"),
        ({"input": 1}, "/spec", "this key is required and missing"),
        ({"spec": "echo"}, "/input", "this key is required and missing"),
        ({"spec": 5, "input": 1}, "/spec", "should be a valid string"),
        ({"spec": "e", "inputs": 1, "input": 1}, "/inputs", "unknown key; did you mean `input`?"),
        (
            {"spec": "e", "input": 1, "q/~": 1},
            "/q~1~0",
            "unknown key; known keys are `spec`, `input`, `limits`, `labels`, `priority`, `ttl_s`, `expires_in_s`, `record`, `callback_url`",
        ),
        (
            {"spec": "e", "input": 1, "limits": {"time": 5}},
            "/limits/time",
            "unknown key; did you mean `time_ms`?",
        ),
        (
            {"spec": "e", "input": 1, "limits": {"steps": 0}},
            "/limits/steps",
            "should be greater than or equal to 1",
        ),
        (
            {"spec": "e", "input": 1, "limits": {"steps": 1.5}},
            "/limits/steps",
            "should be a valid integer",
        ),
        (
            {"spec": "e", "input": 1, "limits": {"steps": True}},
            "/limits/steps",
            "should be a valid integer",
        ),
        ({"spec": "e", "input": 1, "labels": []}, "/labels", "should be an object"),
        (
            {"spec": "e", "input": 1, "labels": {"a": 1}},
            "/labels/a",
            "should be a valid string",
        ),
    ],
)
def test_a_body_with_a_fault_is_refused_with_a_pointer_to_it(
    api: Api, body: Json, pointer: str, message: str
) -> None:
    found = problem(api.http.post("/v1/jobs", json=body), 422, "invalid_body")

    assert {"pointer": pointer, "message": message} in found["errors"]


def test_all_faults_of_a_body_are_named_at_once(api: Api) -> None:
    found = problem(api.http.post("/v1/jobs", json={"spek": 1}), 422, "invalid_body")

    assert [one["pointer"] for one in found["errors"]] == ["/spec", "/input", "/spek"]
    assert found["detail"].endswith("(and 2 more)")


@pytest.mark.parametrize(
    "labels",
    [
        {f"key{number}": "" for number in range(LABELS_MAX + 1)},
        {"k" * 65: ""},
        {"": ""},
        {"a=b": ""},
        {"a\n": ""},
        {"key": "v" * 257},
    ],
)
def test_labels_have_bounds(api: Api, labels: dict[str, str]) -> None:
    body = {"spec": "echo", "input": 1, "labels": labels}
    found = problem(api.http.post("/v1/jobs", json=body), 422, "invalid_body")

    assert found["errors"][0]["pointer"].startswith("/labels")


def test_as_many_labels_as_are_allowed_are_kept(api: Api) -> None:
    labels = {f"{number:064}": "v" * 200 for number in range(LABELS_MAX - 5)}

    assert api.submit("echo", labels=labels)["labels"] == labels


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_body_of_another_type_is_refused(api: Api, headers: dict[str, str]) -> None:
    problem(post(api, b'{"spec":"echo","input":1}', headers), 415, "unsupported_media_type")


def test_parameters_of_the_content_type_do_not_matter(api: Api) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}

    assert post(api, b'{"spec":"echo","input":1}', headers).status_code == 202


def padded(size: int) -> bytes:
    body = b'{"spec":"echo","input":""}'
    return body[:-2] + b"x" * (size - len(body)) + body[-2:]


def test_a_body_as_large_as_allowed_is_taken(api: Api) -> None:
    assert post(api, padded(BODY_BYTES_MAX)).status_code == 202


def test_a_body_that_announces_too_much_is_refused(api: Api) -> None:
    found = problem(post(api, padded(BODY_BYTES_MAX + 1)), 413, "body_too_large")

    assert f"{BODY_BYTES_MAX} bytes (`body_bytes_max`)" in found["detail"]


def test_a_body_that_announces_nothing_is_refused_once_it_is_too_large(api: Api) -> None:
    chunks = iter([padded(BODY_BYTES_MAX), b" "])

    problem(post(api, chunks), 413, "body_too_large")


def test_a_host_that_refused_a_body_serves_the_next_one_on_the_same_connection(api: Api) -> None:
    with httpx.Client(base_url=api.server.url, limits=httpx.Limits(max_connections=1)) as http:
        http.post("/v1/jobs", content=padded(BODY_BYTES_MAX * 20), headers=JSON)

        assert http.post("/v1/jobs", json={"spec": "echo", "input": 1}).status_code == 202


def test_a_whole_number_may_be_written_with_a_point(api: Api) -> None:
    job = api.submit("echo", None, limits={"time_ms": 1000.0}, ttl_s=60.0)

    assert (job["limits"]["time_ms"], job["ttl_s"]) == (1000, 60)


def unknown_keys(count: int) -> bytes:
    keys = ",".join(f'"key_{number}":1' for number in range(count))
    return f'{{"spec":"echo","input":1,{keys},"limits":{{{keys}}}}}'.encode()


def test_of_many_faults_the_first_ones_are_told_and_how_many_more_there_are() -> None:
    with pytest.raises(CallerError) as refused:
        parse_body(SubmissionBody, unknown_keys(1_000))

    faults = refused.value.faults
    assert len(faults) == FAULTS_SHOWN_MAX + 1
    assert faults[-1].message == "and 1984 more"
    assert "did you mean" not in faults[0].message
    assert refused.value.message.endswith("(and 1999 more)")


def test_many_faults_of_a_body_take_no_more_than_to_read_it() -> None:
    sent = unknown_keys(20_000)
    tracemalloc.start()
    try:
        load_json(sent)
        _, read = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        with pytest.raises(CallerError):
            parse_body(SubmissionBody, sent)
        _, refused = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refused < 2 * read + 8 * len(sent)


def test_too_many_labels_are_refused_before_each_of_them_is_looked_at() -> None:
    body = {"spec": "echo", "input": 1, "labels": {f"a b {number}": 1 for number in range(1_000)}}
    with pytest.raises(CallerError) as refused:
        parse_body(SubmissionBody, dump_json(body))

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.message) == (
        "/labels",
        f"has 1000 elements, but may have {LABELS_MAX}",
    )
