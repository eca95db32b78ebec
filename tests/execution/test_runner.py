"""The step loop: whatever a guest does, there is one envelope with the right status and code."""

import threading
from pathlib import Path
from typing import Any

import pytest

from bounds import scaled
from cuttlebone.errors import JobError
from cuttlebone.execution.runner import run_job
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import (
    Cancelled,
    Completed,
    ErrorCode,
    Json,
    Signature,
    parse_type,
)
from execution.scripts import failure, run, says
from job_scopes import ScopeOf, Told


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


def test_a_job_that_is_stopped_while_its_guest_runs_ends_with_the_cause(scope_of: ScopeOf) -> None:
    started = threading.Event()

    def script(guest: ScriptedGuest, _value: Json) -> Commands:
        started.set()
        guest.spin()
        yield {"cmd": "done", "result": 1}

    scope = scope_of()
    cause = JobError(ErrorCode.CANCELLED, "enough")
    stopper = threading.Thread(target=lambda: started.wait(scaled(10)) and scope.budget.stop(cause))
    stopper.start()
    envelope = run_job(ScriptedGuest(script), scope, IoSchemas(Signature()), b"null")
    stopper.join()

    assert isinstance(envelope, Cancelled)
    assert envelope.error.message == "enough"


def test_a_stop_after_the_end_changes_nothing(scope_of: ScopeOf) -> None:
    scope = scope_of()
    run_job(
        ScriptedGuest(says({"cmd": "done", "result": 1})), scope, IoSchemas(Signature()), b"null"
    )

    assert not scope.budget.stop(JobError(ErrorCode.CANCELLED, "too late"))


def test_a_stop_before_the_end_wins_over_the_result(scope_of: ScopeOf) -> None:
    scope = scope_of()

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        scope.budget.stop(JobError(ErrorCode.TIMEOUT, "just in time"))
        yield {"cmd": "done", "result": 1}

    envelope = run_job(ScriptedGuest(script), scope, IoSchemas(Signature()), b"null")

    assert failure(envelope) == ("timeout", "just in time")


def test_a_result_is_held_to_the_signature_of_the_block(scope_of: ScopeOf) -> None:
    io_schemas = IoSchemas(Signature(output=parse_type("{summary: text}")))
    guest = ScriptedGuest(says({"cmd": "done", "result": {"summary": 1}}))

    code, message = failure(run_job(guest, scope_of(), io_schemas, b"null"))

    assert code == ErrorCode.SCHEMA_VALIDATION_FAILED
    assert "$.result.summary" in message


def test_a_result_is_held_to_the_schema_of_the_spec(scope_of: ScopeOf) -> None:
    io_schemas = IoSchemas(
        Signature(), output_schema={"type": "array", "items": {"type": "number"}}
    )
    guest = ScriptedGuest(says({"cmd": "done", "result": [1, "2"]}))

    code, message = failure(run_job(guest, scope_of(), io_schemas, b"null"))

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
