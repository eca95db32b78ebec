"""The events of a job as a stream: complete, resumable, and with an end."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx_sse import ServerSentEvent, connect_sse

from api.hosted import BOUND_S, SCRIPTS, Api, Gate, served
from cuttlebone.api.event_frames import LARGE_BYTES_MIN
from cuttlebone.api.event_stream import event_stream
from cuttlebone.api.subscribers import Subscribers
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase, State
from cuttlebone.http_types import Health
from cuttlebone.job.events import JobEvent
from cuttlebone.job.job import TENANT, JobKey, Submission, now
from cuttlebone.job.job import Job as KeptJob
from cuttlebone.job_options import Limits
from cuttlebone.service.host import Host
from cuttlebone.service.job_service import JobService
from cuttlebone.testing import Commands, ScriptedEndpoint, ScriptedGuest
from cuttlebone_abi import Json, load_json

Job = dict[str, Any]


@contextmanager
def followed(api: Api, job: Job, **headers: str) -> Iterator[Iterator[ServerSentEvent]]:
    with connect_sse(api.http, "GET", job["links"]["events"], headers=headers) as stream:
        yield (event for event in stream.iter_sse() if event.data)


def all_events(api: Api, job: Job, **headers: str) -> list[tuple[str, str]]:
    """Number and kind of each event until the host ends the stream."""
    with followed(api, job, **headers) as events:
        return [(event.id, event.event) for event in events]


def ask(_guest: ScriptedGuest, _value: Json) -> Commands:
    """Have one generation."""
    yield {"cmd": "infer", "prompt": "hello", "max_tokens": 4}
    yield {"cmd": "done", "result": None}


def test_a_stream_begins_with_a_snapshot_tells_everything_and_ends_after_the_result(
    api: Api,
) -> None:
    job = api.ended(api.submit("echo", 5))

    with followed(api, job) as stream:
        events = list(stream)

    assert [(event.id, event.event) for event in events] == [
        ("", "snapshot"),
        ("1", "status"),
        ("2", "status"),
        ("3", "progress"),
        ("4", "status"),
        ("5", "result"),
    ]
    assert load_json(events[0].data.encode()) == job
    assert load_json(events[-1].data.encode()) == job["envelope"]


def test_events_come_as_they_happen(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}) as api:
        job = api.submit("gate")
        with followed(api, job) as events:
            told = []
            for event in events:
                told.append((event.event, event.data))
                if event.data == '"waiting"':
                    gate.open()

    assert ("progress", '"through"') in told
    assert told[-1][0] == "result"


def test_watchers_are_told_that_a_job_waits_for_its_model(tmp_path: Path) -> None:
    model = ScriptedEndpoint(state=State(Phase.LOADING))
    endpoints = EndpointDirectory({"main": model})
    with (
        served(tmp_path, {"ask": ask}, endpoints=endpoints, more="model: main") as api,
        followed(api, api.submit("ask")) as events,
    ):
        told = []
        for event in events:
            told.append((event.event, event.data))
            if "waiting_for" in event.data and event.event == "status":
                model.become(State(Phase.READY))

    assert [data for kind, data in told if kind == "status"] == [
        '{"status":"queued"}',
        '{"status":"running","attempt":1}',
        '{"status":"running","waiting_for":"the model `main` to be loaded"}',
        '{"status":"completed"}',
    ]


def test_two_watchers_are_told_the_same(tmp_path: Path) -> None:
    gate = Gate()
    with served(tmp_path, {"gate": gate.script}) as api:
        job = api.submit("gate")
        with followed(api, job) as first, followed(api, job) as second:
            next(first)
            next(second)
            gate.open()

            assert [one.data for one in first] == [one.data for one in second]


def test_a_stream_goes_on_after_the_last_event_that_was_seen(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    assert all_events(api, job, **{"Last-Event-ID": "3"}) == [
        ("", "snapshot"),
        ("4", "status"),
        ("5", "result"),
    ]


def test_the_query_does_what_the_header_does_and_gives_way_to_it(api: Api) -> None:
    job = api.ended(api.submit("echo"))
    job["links"]["events"] += "?after=4"

    assert all_events(api, job)[1:] == [("5", "result")]
    assert all_events(api, job, **{"Last-Event-ID": "3"})[1:] == [("4", "status"), ("5", "result")]


def test_a_stream_with_nothing_left_to_tell_ends(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    assert all_events(api, job, **{"Last-Event-ID": "5"}) == [("", "snapshot")]


@pytest.mark.parametrize("number", ["-1", "x", str(1 << 63)])
def test_a_last_event_that_is_no_number_of_an_event_is_refused(api: Api, number: str) -> None:
    job = api.submit("echo")

    answer = api.http.get(job["links"]["events"], headers={"Last-Event-ID": number})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "`last-event-id` in the header" in answer.json()["detail"]


def test_an_unknown_job_is_refused_before_a_stream_begins(api: Api) -> None:
    answer = api.http.get("/v1/jobs/nobody/events")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_job")


def test_what_a_block_emits_cannot_forge_an_event(api: Api) -> None:
    nasty = "a\n\nevent: result\ndata: {}\r\rid: 99\u2028\u2029\x85\x00" + "🦑"
    job = api.ended(api.submit("say", [nasty, 2**200]))

    with followed(api, job) as stream:
        told = [load_json(event.data.encode()) for event in stream if event.event == "progress"]

    assert told == [nasty, 2**200]


def test_more_events_than_one_read_returns_are_all_told_in_order(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        count = 2500
        value = list(range(count))
        submitted = api.host.jobs.submit(Submission("say", value))
        job = api.http.get(f"/v1/jobs/{submitted.id}").json()

        with followed(api, job) as stream:
            told = [int(event.data) for event in stream if event.event == "progress"]

    assert told == value


def test_a_silent_stream_is_kept_alive_by_comments_every_15_seconds(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        job = api.submit("spin")
        with api.http.stream("GET", job["links"]["events"]) as answer:
            comment = next(line for line in answer.iter_lines() if line.startswith(":"))

    assert comment == ": ping"


def test_a_client_that_goes_is_no_longer_a_subscriber(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        job = api.submit("spin")
        api.emitted(job, "spinning")
        for path in (job["links"]["events"], job["links"]["self"] + "?wait=60"):
            client = socket.create_connection(api.address, timeout=BOUND_S)
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            api.followed_by(1)
            client.close()
            api.followed_by(0)


def test_a_stop_of_the_host_ends_streams_and_waits(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        job = api.submit("spin")
        api.emitted(job, "spinning")
        answers: list[int] = []

        def wait() -> None:
            found = api.http.get(job["links"]["self"], params={"wait": 60})
            answers.append(found.status_code)

        waiting = threading.Thread(target=wait)
        with api.http.stream("GET", job["links"]["events"]) as answer:
            lines = answer.iter_lines()
            next(line for line in lines if "spinning" in line)
            waiting.start()
            api.followed_by(2)
            api.server.stop()
            rest = list(lines)
        waiting.join(BOUND_S)

    assert ": the host is stopping" in rest
    assert "retry: 2000" in rest
    assert answers == [200]


def test_a_reader_that_a_job_is_forgotten_under_is_told_of_the_gap(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPTS, jobs_kept_max=1) as api:
        first = api.ended(api.submit("echo"))
        api.ended(api.submit("echo"))

        forgotten = KeptJob(
            id=first["id"], spec="echo", input=b"", limits=Limits(), labels={}, created_at=now()
        )
        told = asyncio.run(streamed(api.host, api.host.jobs, forgotten, after=3))

        assert told == [b'event: gap\ndata: {"after":3,"next":null}\n\n']


def test_a_stream_that_is_to_go_on_beyond_the_log_says_so_and_begins_anew(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    with followed(api, job, **{"Last-Event-ID": "57"}) as stream:
        events = list(stream)

    assert events[1].event == "gap"
    assert load_json(events[1].data.encode()) == {"after": 57, "next": 1}
    assert [event.id for event in events[2:]] == ["1", "2", "3", "4", "5"]


async def streamed(host: Host, jobs: JobService, job: KeptJob, *, after: int) -> list[bytes]:
    """What a stream of a job sends behind its snapshot."""
    with Subscribers().subscribe(jobs, job) as subscription:
        snapshot = Health(status="", version="")
        stream = event_stream(subscription, snapshot, after, host.status.metrics)
        return [bytes(piece) async for piece in stream][1:]


class LosesAnEvent(JobService):
    """A job service whose event logs lack the third event."""

    def __init__(self, whole: JobService) -> None:
        """Take everything else from a service that works."""
        vars(self).update(vars(whole))

    def events(self, key: JobKey, *, after: int) -> Sequence[JobEvent]:
        return [one for one in super().events(key, after=after) if one.number != 3]


def test_an_event_that_is_missing_is_said(api: Api) -> None:
    job = api.ended(api.submit("echo"))

    kept = api.host.jobs.get(JobKey(TENANT, job["id"]))
    told = asyncio.run(streamed(api.host, LosesAnEvent(api.host.jobs), kept, after=0))

    lines = b"".join(told).decode().splitlines()
    assert [line for line in lines if line.startswith(("id: ", "event: gap", 'data: {"after'))] == [
        "id: 1",
        "id: 2",
        "event: gap",
        'data: {"after":2,"next":4}',
        "id: 4",
        "id: 5",
    ]


LARGE = "x" * LARGE_BYTES_MIN


def test_a_large_event_is_a_link_for_who_asks_and_whole_for_everybody_else(api: Api) -> None:
    job = api.submit("say", ["small", 1])
    api.ended(job)
    large = api.host.jobs.submit(Submission("say", ["small", LARGE, "after"]))
    job = api.ended(api.http.get(f"/v1/jobs/{large.id}").json())

    with followed(api, job) as stream:
        whole = [load_json(event.data.encode()) for event in stream if event.event == "progress"]
    job["links"]["events"] += "?large=link"
    with followed(api, job) as stream:
        events = [event for event in stream if event.event in {"progress", "large"}]

    assert whole == ["small", LARGE, "after"]
    assert [(event.id, event.event) for event in events] == [
        ("3", "progress"),
        ("4", "large"),
        ("5", "progress"),
    ]
    link = load_json(events[1].data.encode())
    assert link == {"bytes": len(LARGE) + 2, "href": f"/v1/jobs/{job['id']}/events/4"}
    answer = api.http.get(link["href"])
    shown = answer.json()
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert (shown["number"], shown["kind"], shown["data"]) == (4, "progress", LARGE)


def test_a_large_result_is_a_link_and_ends_the_stream(api: Api) -> None:
    large = api.host.jobs.submit(Submission("echo", LARGE))
    job = api.ended(api.http.get(f"/v1/jobs/{large.id}").json())
    job["links"]["events"] += "?large=link"

    with followed(api, job) as stream:
        last = list(stream)[-1]

    assert (last.id, last.event) == ("5", "large")
    shown = api.http.get(load_json(last.data.encode())["href"]).json()
    assert (shown["kind"], shown["data"]) == ("result", job["envelope"])


@pytest.mark.parametrize("number", [1, 5])
def test_an_event_is_shown_as_it_stands_in_the_stream(api: Api, number: int) -> None:
    job = api.ended(api.submit("echo", {"big": 2**200, "line": "\u2028"}))

    with followed(api, job) as stream:
        told = {event.id: event for event in stream}
    shown = load_json(api.http.get(f"{job['links']['events']}/{number}").content)

    event = told[str(number)]
    assert shown == {
        "number": number,
        "kind": event.event,
        "at": shown["at"],
        "data": load_json(event.data.encode()),
    }


@pytest.mark.parametrize(
    ("number", "status", "code"),
    [("6", 404, "unknown_event"), ("0", 400, "bad_request"), (str(1 << 63), 400, "bad_request")],
)
def test_an_event_that_is_not_there_is_refused(
    api: Api, number: str, status: int, code: str
) -> None:
    job = api.ended(api.submit("echo"))

    answer = api.http.get(f"{job['links']['events']}/{number}")

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_only_links_can_be_asked_for(api: Api) -> None:
    job = api.submit("echo")

    answer = api.http.get(job["links"]["events"], params={"large": "whole"})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
