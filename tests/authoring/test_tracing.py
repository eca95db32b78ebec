"""A traced guest does what the guest does, and tells all of it."""

from itertools import count
from typing import Any

import pytest

from cuttlebone.authoring.tracing import Traced, TraceEntry, TracingGuest
from cuttlebone.errors import Interrupted
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json


def script(_guest: ScriptedGuest, value: Json) -> Commands:
    yield {"cmd": "open", "path": value}
    yield {"cmd": "done", "result": 1}


def traced(told: list[TraceEntry], **options: Any) -> TracingGuest:
    ticks = count()
    return TracingGuest(
        ScriptedGuest(script, **options), told.append, clock=lambda: next(ticks) / 1000
    )


def test_every_message_is_told_in_order_with_its_step() -> None:
    told: list[TraceEntry] = []
    guest = traced(told)

    first = guest.init(b'"a"')
    guest.step(b'{"event":"opened"}')

    assert first == b'{"cmd":"open","path":"a"}'
    assert [(entry.kind, entry.step, entry.text) for entry in told] == [
        (Traced.INPUT, 1, '"a"'),
        (Traced.COMMAND, 1, '{"cmd":"open","path":"a"}'),
        (Traced.EVENT, 2, '{"event":"opened"}'),
        (Traced.COMMAND, 2, '{"cmd":"done","result":1}'),
    ]
    assert [entry.at_ms for entry in told] == sorted(entry.at_ms for entry in told)
    assert all(entry.took_ms > 0 for entry in told)


def test_a_stop_is_told_with_its_piece() -> None:
    told: list[TraceEntry] = []
    guest = traced(told, on_token=lambda piece: piece == "b")
    guest.init(b"1")

    verdicts = [guest.on_token(b"a"), guest.on_token(b"b")]

    assert verdicts == [0, 1]
    assert [(entry.kind, entry.text) for entry in told[2:]] == [(Traced.STOP, "b")]
    assert guest.wants_tokens


def test_the_end_of_a_guest_is_told_and_raised() -> None:
    told: list[TraceEntry] = []
    guest = traced(told)
    guest.init(b"1")
    guest.interrupt()

    with pytest.raises(Interrupted):
        guest.step(b"{}")

    assert told[-1].kind is Traced.END
