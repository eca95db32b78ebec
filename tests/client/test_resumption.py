"""A stream of events over connections that break."""

import pytest

from client.scripted import ScriptedHost, refusal
from cuttlebone.client import Client, NoHost, Refused, Unreachable
from cuttlebone.client.exchange import EVENT_BYTES_MAX, EventSizes
from cuttlebone.client.resumption import DELAY_S_MAX, FAILURES_MAX

RESULT = 'id: 3\nevent: result\ndata: {"status": "failed"}\n\n'


def _event(number: int, text: str = "a") -> str:
    return f'id: {number}\nevent: token\ndata: {{"text": "{text}"}}\n\n'


def _numbers(client: Client, *, after: int = 0) -> list[int | None]:
    return [event.number for event in client.events("a1", after=after)]


def test_events_come_in_order_up_to_the_result(client: Client, host: ScriptedHost) -> None:
    host.will_send(_event(1) + _event(2) + RESULT + _event(4))
    assert _numbers(client) == [1, 2, 3]
    assert "last-event-id" not in host.requests[0].headers


def test_a_broken_stream_goes_on_after_the_last_event(client: Client, host: ScriptedHost) -> None:
    host.will_send(_event(1))
    host.will_break()
    host.will_send(_event(2) + RESULT)
    assert _numbers(client) == [1, 2, 3]
    assert [request.headers.get("last-event-id") for request in host.requests] == [None, "1", "1"]


def test_an_event_that_was_seen_before_is_not_told_again(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send(_event(1) + _event(2))
    host.will_send(_event(1) + _event(2) + RESULT)
    assert _numbers(client) == [1, 2, 3]


def test_a_snapshot_has_no_number_and_moves_nothing(client: Client, host: ScriptedHost) -> None:
    host.will_send('event: snapshot\ndata: {"status": "running"}\n\n')
    host.will_send(RESULT)
    assert _numbers(client, after=2) == [None, 3]
    assert [request.headers["last-event-id"] for request in host.requests] == ["2", "2"]


def test_a_gap_leads_back_to_the_beginning_of_another_log(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send('event: gap\ndata: {"after": 57, "next": 1}\n\n' + _event(1) + RESULT)
    assert _numbers(client, after=57) == [None, 1, 3]


def test_a_gap_leads_ahead_over_what_is_missing(client: Client, host: ScriptedHost) -> None:
    host.will_send(_event(1) + 'event: gap\ndata: {"after": 1, "next": 3}\n\n')
    host.will_send(RESULT)
    assert _numbers(client) == [1, None, 3]
    assert host.requests[1].headers["last-event-id"] == "2"


def test_a_job_that_has_no_further_events_ends_the_stream(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send('event: snapshot\ndata: {"status": "completed"}\n\n')
    assert _numbers(client, after=3) == [None]
    assert host.pauses == []


def test_a_host_that_answers_without_news_is_asked_again_at_growing_intervals(
    client: Client, host: ScriptedHost
) -> None:
    for _ in range(FAILURES_MAX * 2):
        host.will_send('event: snapshot\ndata: {"status": "running"}\n\n')
    host.will_send(RESULT)
    assert _numbers(client)[-1] == 3
    assert host.pauses[-1] == DELAY_S_MAX


def test_keep_alive_comments_are_no_events(client: Client, host: ScriptedHost) -> None:
    host.will_send(_event(1) + ": still here\n\n" + RESULT)
    assert _numbers(client) == [1, 3]


def test_a_line_separator_inside_text_ends_no_event(client: Client, host: ScriptedHost) -> None:
    host.will_send(_event(1, "a\u2028b\x85c") + RESULT)
    first = next(client.events("a1"))
    assert first.data == {"text": "a\u2028b\x85c"}


LINK = 'id: 2\nevent: large\ndata: {"bytes": 300000, "href": "http://elsewhere/"}\n\n'
LINKED = {"number": 2, "kind": "progress", "at": "2026-01-31T09:30:00Z", "data": "much"}


def test_a_large_event_is_fetched_from_this_host_wherever_its_link_leads(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send(_event(1) + LINK + RESULT)
    host.will_answer(json=LINKED)

    events = list(client.events("a/1"))

    assert [(event.number, event.kind) for event in events] == [
        (1, "token"),
        (2, "progress"),
        (3, "result"),
    ]
    assert events[1].data == "much"
    assert host.requests[0].url.params["large"] == "link"
    assert host.requests[1].url.raw_path == b"/v1/jobs/a%2F1/events/2"
    assert host.requests[1].url.host == host.requests[0].url.host


def test_a_large_result_ends_the_stream(client: Client, host: ScriptedHost) -> None:
    host.will_send(LINK)
    host.will_answer(json={**LINKED, "kind": "result", "data": {"status": "failed"}})

    assert [event.kind for event in client.events("a1")] == ["result"]


def test_a_large_event_is_fetched_again_where_the_host_went_meanwhile(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send(_event(1) + LINK)
    host.will_break()
    host.will_send(LINK + RESULT)
    host.will_answer(json=LINKED)

    assert _numbers(client) == [1, 2, 3]
    assert [request.headers.get("last-event-id") for request in host.requests] == [
        None, None, "1", None,
    ]  # fmt: skip


def test_a_large_event_that_was_seen_is_not_fetched(client: Client, host: ScriptedHost) -> None:
    host.will_send(LINK + RESULT)

    assert _numbers(client, after=2) == [3]
    assert len(host.requests) == 1


def test_a_host_that_stays_away_is_given_up_after_growing_pauses(
    client: Client, host: ScriptedHost
) -> None:
    host.will_send(_event(1))
    for _ in range(FAILURES_MAX):
        host.will_break()
    with pytest.raises(Unreachable, match="any more: connection refused"):
        _numbers(client)
    assert host.pauses == sorted(host.pauses)
    assert len(host.pauses) == FAILURES_MAX
    assert host.pauses[-1] == DELAY_S_MAX


def test_an_event_makes_the_client_patient_again(client: Client, host: ScriptedHost) -> None:
    for number in range(1, FAILURES_MAX * 2):
        host.will_break()
        host.will_send(_event(number))
    host.will_send(f"id: {FAILURES_MAX * 2}\nevent: result\ndata: null\n\n")
    assert _numbers(client) == list(range(1, FAILURES_MAX * 2 + 1))


def test_a_host_that_restarts_is_waited_for(client: Client, host: ScriptedHost) -> None:
    host.will_answer(503, refusal("stopping"))
    host.will_send(RESULT)
    assert _numbers(client) == [3]


def test_an_unknown_job_is_refused_at_once(client: Client, host: ScriptedHost) -> None:
    host.will_answer(404, refusal("unknown_job", "there is no job 'a1'"))
    with pytest.raises(Refused, match="there is no job"):
        _numbers(client)
    assert host.pauses == []


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("id: 1\ndata: {nonsense\n\n", "text/event-stream"),
        ("<html>a login page</html>", "text/html"),
    ],
)
def test_a_stream_of_something_else_is_no_host(
    client: Client, host: ScriptedHost, text: str, content_type: str
) -> None:
    host.will_send(text, content_type)
    with pytest.raises(Unreachable, match="not a Cuttlebone host"):
        _numbers(client)


def test_an_event_has_a_greatest_size(client: Client, host: ScriptedHost) -> None:
    mebibyte = b"x" * (1 << 20)
    host.will_send_parts(_event(1).encode(), b"data: ", *[mebibyte] * (EVENT_BYTES_MAX >> 20))
    events = client.events("a1")
    assert next(events).number == 1
    with pytest.raises(NoHost, match=f"more than {EVENT_BYTES_MAX} bytes"):
        list(events)


def test_a_stream_that_is_compressed_is_no_host(client: Client, host: ScriptedHost) -> None:
    host.will_send_parts(b"", content_encoding="gzip")
    with pytest.raises(NoHost, match="compressed"):
        list(client.events("a1"))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_an_event_is_counted_however_the_stream_is_cut(size: int) -> None:
    sizes, stream = EventSizes(), b"data: a\n\ndata: b\r\n\n" * 3
    for start in range(0, len(stream), size):
        sizes.check(stream[start : start + size])
    with pytest.raises(ValueError, match="an event has more"):
        sizes.check(b"x" * (EVENT_BYTES_MAX + 1))
