"""The limits of a job that the step loop keeps."""

from pathlib import Path

import pytest

from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import (
    ErrorCode,
    Json,
)
from execution.scripts import failure, run, says
from job_scopes import ScopeOf, Told


def forever(_guest: ScriptedGuest, _value: Json) -> Commands:
    while True:
        yield {"cmd": "emit", "progress": "x" * 100, "on_error": "event"}


def test_steps_are_limited(scope_of: ScopeOf) -> None:
    code, message = failure(run(forever, scope_of, steps=7))

    assert (code, "steps" in message, "7" in message) == (ErrorCode.LIMIT_EXCEEDED, True, True)


@pytest.mark.parametrize(("limit", "value"), [("events", 3), ("event_bytes", 250)])
def test_events_and_their_bytes_are_limited(limit: str, value: int, scope_of: ScopeOf) -> None:
    noisy = {"cmd": "emit", "progress": "x" * 100}
    code, message = failure(run(says(*[noisy] * 9), scope_of, **{limit: value}))

    assert code == ErrorCode.LIMIT_EXCEEDED
    assert message.startswith(f"{limit}: ")
    assert str(value) in message


def test_a_guest_may_go_on_after_too_many_events(scope_of: ScopeOf, told: Told) -> None:
    run(forever, scope_of, events=3, steps=9)

    assert len(told.progress_values) == 3


def test_command_bytes_are_limited(scope_of: ScopeOf) -> None:
    code, message = failure(
        run(says({"cmd": "done", "result": "x" * 100}), scope_of, command_bytes=50)
    )

    assert (code, "at most 50" in message) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_json_depth_is_limited(scope_of: ScopeOf) -> None:
    code, message = failure(run(says({"cmd": "done", "result": [[[[1]]]]}), scope_of, json_depth=3))

    assert (code, "json_depth" in message) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_json_nodes_are_limited(scope_of: ScopeOf) -> None:
    code, message = failure(run(says({"cmd": "done", "result": [[], []]}), scope_of, json_nodes=3))

    assert (code, "json_nodes: it has more than 3" in message) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_handles_are_limited(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    code, message = failure(run(says(*[{"cmd": "open", "path": "a"}] * 3), scope_of, handles=2))

    assert (code, "2" in message) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_a_window_over_its_limit_is_never_cut_in_silence(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 100)

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "open", "path": "a"}
        yield {"cmd": "slice", "handle": 1, "offset": 0, "len": 100}

    code, message = failure(run(script, scope_of, window_bytes=10))

    assert (code, message.split(":")[0]) == (ErrorCode.LIMIT_EXCEEDED, "window_bytes")
