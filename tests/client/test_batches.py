"""Many submissions: sent together, paced by the host, each with its own outcome."""

import json

import httpx
import pytest

from client.scripted import ScriptedHost, refusal
from cuttlebone.api.openapi_examples import read_examples
from cuttlebone.client import Client, Refused
from cuttlebone.client.batches import LINES_MAX
from cuttlebone_abi import Json

JOB = read_examples("jobs")["queued"]


def lines_of(request: httpx.Request) -> list[dict[str, Json]]:
    return [json.loads(line) for line in request.content.splitlines()]


def accepts(host: ScriptedHost, *refused: int, code: str = "queue_full", status: int = 429) -> None:
    """The next batch finds room, but for the lines at these places."""

    def answer(request: httpx.Request) -> httpx.Response:
        answers = [
            {"line": n, "status": status, "problem": refusal(code), "retry_after_s": 5}
            if n in refused
            else {"line": n, "status": 202, "job": {**JOB, "id": f"job-{line['input']}"}}
            for n, line in enumerate(lines_of(request), start=1)
        ]
        return httpx.Response(200, text="".join(json.dumps(one) + "\n" for one in answers))

    host.answers.append(answer)


def ids(outcomes: list[object]) -> list[str]:
    return [one.code if isinstance(one, Refused) else str(getattr(one, "id")) for one in outcomes]  # noqa: B009


def test_each_input_is_a_line_with_a_key_of_its_own(client: Client, host: ScriptedHost) -> None:
    accepts(host)

    found = client.submit_many("echo", ["a", "b"], labels={"run": "7"}, priority="interactive")

    first, second = lines_of(host.requests[0])
    assert host.requests[0].headers["Content-Type"] == "application/x-ndjson"
    assert first["idempotency_key"] != second["idempotency_key"]
    assert {**first, "idempotency_key": ""} == {
        "spec": "echo",
        "input": "a",
        "labels": {"run": "7"},
        "priority": "interactive",
        "idempotency_key": "",
    }
    assert ids([*found]) == ["job-a", "job-b"]


def test_more_than_a_batch_are_sent_in_several(client: Client, host: ScriptedHost) -> None:
    accepts(host)
    accepts(host)

    found = client.submit_many("echo", range(LINES_MAX + 1))

    assert [len(lines_of(one)) for one in host.requests] == [LINES_MAX, 1]
    assert ids([*found]) == [f"job-{n}" for n in range(LINES_MAX + 1)]
    assert host.pauses == []


def test_what_finds_no_room_is_sent_again_when_the_host_says(
    client: Client, host: ScriptedHost
) -> None:
    accepts(host, 2, 3)
    accepts(host, 2)
    accepts(host)

    found = client.submit_many("echo", ["a", "b", "c"])

    assert ids([*found]) == ["job-a", "job-b", "job-c"]
    assert host.pauses == [5, 5]
    sent = [[line["input"] for line in lines_of(one)] for one in host.requests]
    assert sent == [["a", "b", "c"], ["b", "c"], ["c"]]
    keys = {line["idempotency_key"] for one in host.requests for line in lines_of(one)}
    assert len(keys) == 3


def test_patience_ends_when_there_was_room_for_none_for_that_long(
    client: Client, host: ScriptedHost
) -> None:
    accepts(host, 2)
    accepts(host, 1)

    found = client.submit_many("echo", ["a", "b"], patience_s=9)

    assert ids([*found]) == ["job-a", "queue_full"]
    assert host.pauses == [5]


def test_what_will_not_pass_is_not_sent_again(client: Client, host: ScriptedHost) -> None:
    accepts(host, 1, code="schema_validation_failed", status=422)

    assert ids([*client.submit_many("echo", ["a", "b"])]) == ["schema_validation_failed", "job-b"]


def test_nothing_to_submit_asks_nothing(client: Client, host: ScriptedHost) -> None:
    assert client.submit_many("echo", []) == []
    assert host.requests == []


def test_a_refusal_that_passes_is_waited_for_within_the_bound_alone(host: ScriptedHost) -> None:
    transport = httpx.MockTransport(host.handle)
    for _ in range(3):
        host.will_answer(429, refusal("quota_exceeded"), retry_after="4")
    with (
        Client("http://host.test", transport=transport, pause=host.pauses.append, retry_s=9) as one,
        pytest.raises(Refused, match="no"),
    ):
        one.job("a1")

    assert host.pauses == [4, 4]


def test_a_refusal_is_raised_at_once_without_a_bound(client: Client, host: ScriptedHost) -> None:
    host.will_answer(429, refusal("quota_exceeded"), retry_after="1")
    with pytest.raises(Refused):
        client.job("a1")
    assert host.pauses == []
