"""The step loop: whatever a guest does, there is one envelope with the right status and code."""

import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from cuttlebone.errors import JobError
from cuttlebone.jobs.runner import run_job
from cuttlebone.jobs.shapes import Shapes
from cuttlebone.testing import Script, ScriptedGuest
from cuttlebone_abi import (
    Cancelled,
    Completed,
    Envelope,
    ErrorCode,
    Failed,
    Json,
    Signature,
    parse_type,
)
from jobs.conftest import ScopeOf, Told

Commands = Generator[Json | bytes, dict[str, Any], None]


def run(script: Script, scope_of: ScopeOf, value: Json = None, **limits: int) -> Envelope:
    return run_job(ScriptedGuest(script), scope_of(**limits), Shapes(Signature()), value)


def failure(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed)
    return envelope.error.code, envelope.error.message


def says(*commands: Json | bytes) -> Script:
    """A guest that returns these commands, whatever it is told."""

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        for command in commands:  # noqa: UP028  # `yield from` cannot be sent events
            yield command

    return script


def test_done_completes_the_job_with_its_result(scope_of: ScopeOf) -> None:
    def script(_guest: ScriptedGuest, value: Json) -> Commands:
        yield {"cmd": "done", "result": {"got": value}}

    envelope = run(script, scope_of, {"big": 2**70, "nothing": None})

    assert isinstance(envelope, Completed)
    assert envelope.result == {"got": {"big": 2**70, "nothing": None}}
    assert envelope.usage.model == ""


def test_a_result_of_null_is_a_result(scope_of: ScopeOf) -> None:
    envelope = run(says({"cmd": "done", "result": None}), scope_of)

    assert envelope.model_dump()["result"] is None


def test_fail_ends_the_job_with_the_code_of_the_guest(scope_of: ScopeOf) -> None:
    envelope = run(says({"cmd": "fail", "code": "no_luck", "message": "sorry"}), scope_of)

    assert failure(envelope) == ("no_luck", "sorry")


def test_a_guest_that_fails_with_the_code_cancelled_has_failed(scope_of: ScopeOf) -> None:
    envelope = run(says({"cmd": "fail", "code": "cancelled", "message": ""}), scope_of)

    assert envelope.status == "failed"


def test_each_command_is_answered_by_its_event(
    scope_of: ScopeOf, tmp_path: Path, told: Told
) -> None:
    (tmp_path / "a.txt").write_text("süß")
    seen: list[dict[str, Any]] = []

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        seen.append((yield {"cmd": "open", "path": "a.txt"}))
        seen.append((yield {"cmd": "slice", "handle": 1, "offset": 0, "len": 4}))
        seen.append((yield {"cmd": "emit", "progress": {"half": True}}))
        seen.append((yield {"cmd": "close", "handle": 1}))
        yield {"cmd": "done", "result": 1}

    run(script, scope_of)

    assert seen == [
        {"event": "opened", "handle": 1, "len": 5, "kind": {"kind": "text"}},
        {"event": "sliced", "text": "sü", "next_offset": 3},
        {"event": "emitted"},
        {"event": "closed"},
    ]
    assert told.progress_values == [{"half": True}]


def test_invalid_bytes_are_replaced_where_the_guest_asks_for_it(
    scope_of: ScopeOf, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\xffb")
    seen: list[dict[str, Any]] = []

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "open", "path": "a.txt"}
        read = {"cmd": "slice", "handle": 1, "offset": 0, "len": 9, "invalid": "replace"}
        seen.append((yield read))
        yield {"cmd": "done", "result": 1}

    run(script, scope_of)

    assert seen[0]["text"] == "a�b"


def test_an_error_ends_the_job_by_default(scope_of: ScopeOf) -> None:
    code, message = failure(run(says({"cmd": "open", "path": "/etc/passwd"}), scope_of))

    assert code == ErrorCode.CAPABILITY_DENIED
    assert "/etc/passwd" in message


def test_an_error_is_an_event_where_the_guest_asks_for_it(scope_of: ScopeOf) -> None:
    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        event = yield {"cmd": "open", "path": "/etc/passwd", "on_error": "event"}
        yield {"cmd": "done", "result": [event["event"], event["code"]]}

    envelope = run(script, scope_of)

    assert isinstance(envelope, Completed)
    assert envelope.result == ["error", "capability_denied"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"cmd":"done","result":NaN}', "not valid JSON"),
        ({"cmd": "dance"}, "unknown cmd 'dance'; known are 'infer', 'open'"),
        ({"command": "done"}, "$.cmd: missing"),
        ({"cmd": "slice", "handle": 1.0, "offset": 0, "len": 1}, "$.handle: should be a valid"),
        ({"cmd": "done"}, "$.result: this field is required"),
    ],
)
def test_a_malformed_command_is_a_trap_that_names_the_place(
    command: Json | bytes, said: str, scope_of: ScopeOf
) -> None:
    code, message = failure(run(says(command), scope_of))

    assert code == ErrorCode.WASM_TRAP
    assert said in message


def test_a_command_of_the_contract_that_is_not_offered_is_unsupported_by_name(
    scope_of: ScopeOf,
) -> None:
    code, message = failure(run(says({"cmd": "embed", "texts": ["a"]}), scope_of))

    assert code == ErrorCode.UNSUPPORTED
    assert "`embed`" in message


def test_infer_without_a_model_is_denied(scope_of: ScopeOf) -> None:
    code, message = failure(run(says({"cmd": "infer", "prompt": "a", "max_tokens": 1}), scope_of))

    assert code == ErrorCode.CAPABILITY_DENIED
    assert "model" in message


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


def test_handles_are_limited(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    code, message = failure(run(says(*[{"cmd": "open", "path": "a"}] * 3), scope_of, handles=2))

    assert (code, "2" in message) == (ErrorCode.LIMIT_EXCEEDED, True)


def test_windows_are_cut_to_their_limit(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 100)

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "open", "path": "a"}
        event = yield {"cmd": "slice", "handle": 1, "offset": 0, "len": 100}
        yield {"cmd": "done", "result": len(event["text"])}

    envelope = run(script, scope_of, window_bytes=10)

    assert isinstance(envelope, Completed)
    assert envelope.result == 10


def test_a_job_that_is_stopped_while_its_guest_runs_ends_with_the_cause(scope_of: ScopeOf) -> None:
    started = threading.Event()

    def script(guest: ScriptedGuest, _value: Json) -> Commands:
        started.set()
        guest.spin()
        yield {"cmd": "done", "result": 1}

    scope = scope_of()
    cause = JobError(ErrorCode.CANCELLED, "enough")
    stopper = threading.Thread(target=lambda: started.wait(10) and scope.budget.stop(cause))
    stopper.start()
    envelope = run_job(ScriptedGuest(script), scope, Shapes(Signature()), None)
    stopper.join()

    assert isinstance(envelope, Cancelled)
    assert envelope.error.message == "enough"


def test_a_stop_after_the_end_changes_nothing(scope_of: ScopeOf) -> None:
    scope = scope_of()
    run_job(ScriptedGuest(says({"cmd": "done", "result": 1})), scope, Shapes(Signature()), None)

    assert not scope.budget.stop(JobError(ErrorCode.CANCELLED, "too late"))


def test_a_stop_before_the_end_wins_over_the_result(scope_of: ScopeOf) -> None:
    scope = scope_of()

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        scope.budget.stop(JobError(ErrorCode.TIMEOUT, "just in time"))
        yield {"cmd": "done", "result": 1}

    envelope = run_job(ScriptedGuest(script), scope, Shapes(Signature()), None)

    assert failure(envelope) == ("timeout", "just in time")


def test_a_result_is_held_to_the_signature_of_the_block(scope_of: ScopeOf) -> None:
    shapes = Shapes(Signature(output=parse_type("{summary: text}")))
    guest = ScriptedGuest(says({"cmd": "done", "result": {"summary": 1}}))

    code, message = failure(run_job(guest, scope_of(), shapes, None))

    assert code == ErrorCode.SCHEMA_VALIDATION_FAILED
    assert "$.result.summary" in message


def test_a_result_is_held_to_the_schema_of_the_spec(scope_of: ScopeOf) -> None:
    shapes = Shapes(Signature(), output_schema={"type": "array", "items": {"type": "number"}})
    guest = ScriptedGuest(says({"cmd": "done", "result": [1, "2"]}))

    code, message = failure(run_job(guest, scope_of(), shapes, None))

    assert code == ErrorCode.SCHEMA_VALIDATION_FAILED
    assert "$.result[1]" in message


def test_a_bug_of_the_host_ends_the_job_with_a_reference(
    scope_of: ScopeOf, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        raise RuntimeError("a bug")

    code, message = failure(run(script, scope_of))

    assert code == ErrorCode.INTERNAL
    assert message.rsplit(" ", 1)[-1] in capsys.readouterr().out
