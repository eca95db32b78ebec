"""`slice_bytes` and `list` through the step loop: what a guest asks and what it is told."""

import base64
from pathlib import Path

import pytest

from cuttlebone.commands.files import carry_out_list
from cuttlebone.errors import JobError
from cuttlebone.execution.recorder import Recorder
from cuttlebone.execution.runner import run_job
from cuttlebone.job.journal import JournalEntry
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, Script, ScriptedGuest
from cuttlebone_abi import Completed, Envelope, ErrorCode, Failed, Json, List, Signature
from job_scopes import ScopeOf


def asks(*commands: Json) -> Script:
    """A guest that gives as its result what each command was answered."""

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        answers = []
        for command in commands:
            answers.append((yield command))  # noqa: PERF401  # a comprehension cannot yield
        yield {"cmd": "done", "result": answers}

    return script


def run(
    script: Script, scope_of: ScopeOf, recorder: Recorder | None = None, **limits: int
) -> Envelope:
    scope = scope_of(**limits)
    return run_job(ScriptedGuest(script), scope, IoSchemas(Signature()), b"null", recorder)


def answers(envelope: Envelope) -> list[Json]:
    assert isinstance(envelope, Completed), envelope
    assert isinstance(envelope.result, list)
    return envelope.result


def failure(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed)
    return envelope.error.code, envelope.error.message


def test_a_list_of_a_job_that_was_stopped_is_left(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    scope = scope_of()
    scope.budget.stop(JobError(ErrorCode.CANCELLED, "stopped"))
    with pytest.raises(JobError, match="stopped"):
        carry_out_list(List(cmd="list", path="."), scope)


OPEN: Json = {"cmd": "open", "path": "raw"}


def test_bytes_come_in_base64(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"\xff\xd8\xff\x00end")

    _, first, rest = answers(
        run(
            asks(
                OPEN,
                {"cmd": "slice_bytes", "handle": 1, "offset": 0, "len": 4},
                {"cmd": "slice_bytes", "handle": 1, "offset": 4, "len": 99},
            ),
            scope_of,
        )
    )

    assert first == {"event": "sliced_bytes", "bytes_base64": "/9j/AA==", "next_offset": 4}
    assert rest["next_offset"] == 7
    assert base64.b64decode(rest["bytes_base64"]) == b"end"


def test_a_window_of_bytes_is_limited(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"x" * 100)
    command = {"cmd": "slice_bytes", "handle": 1, "offset": 0, "len": 2**64 - 1}

    code, message = failure(run(asks(OPEN, command), scope_of, window_bytes=10))

    assert code == ErrorCode.LIMIT_EXCEEDED
    assert message.startswith(f"window_bytes: {2**64 - 1} bytes were asked for")
    assert "at most 10 " in message


def test_a_folder_is_listed_page_by_page(scope_of: ScopeOf, tmp_path: Path) -> None:
    for name in ("b", "a", "ü"):
        (tmp_path / name).write_text("four")
    (tmp_path / "c").mkdir()

    first, second = answers(
        run(
            asks({"cmd": "list", "path": "."}, {"cmd": "list", "path": ".", "after": "b"}),
            scope_of,
            list_entries=2,
        )
    )

    assert first == {
        "event": "listed",
        "entries": [
            {"name": "a", "kind": "file", "len": 4},
            {"name": "b", "kind": "file", "len": 4},
        ],
        "after": "b",
    }
    assert second["entries"] == [
        {"name": "c", "kind": "dir", "len": 0},
        {"name": "ü", "kind": "file", "len": 4},
    ]
    assert second["after"] is None


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ({"cmd": "list", "path": "/etc"}, ErrorCode.CAPABILITY_DENIED),
        ({"cmd": "list", "path": "none"}, ErrorCode.NOT_FOUND),
        ({"cmd": "slice_bytes", "handle": 9, "offset": 0, "len": 1}, ErrorCode.CAPABILITY_DENIED),
    ],
)
def test_an_error_ends_the_job_or_is_an_event_as_the_guest_wishes(
    scope_of: ScopeOf, command: dict[str, Json], code: ErrorCode
) -> None:
    assert failure(run(asks(command), scope_of))[0] == code

    (told,) = answers(run(asks(command | {"on_error": "event"}), scope_of))
    assert (told["event"], told["code"]) == ("error", code)


def test_what_a_folder_and_a_file_say_is_kept_as_digests(scope_of: ScopeOf, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("secret")
    kept: list[JournalEntry] = []
    script = asks(
        OPEN,
        {"cmd": "slice_bytes", "handle": 1, "offset": 0, "len": 9},
        {"cmd": "list", "path": "."},
    )

    answers(run(script, scope_of, Recorder((), kept.append)))

    assert [entry.command for entry in kept] == ["open", "slice_bytes", "list"]
    assert [entry.event for entry in kept] == [None, None, None]


def test_a_job_that_goes_on_over_another_folder_is_told_so(
    scope_of: ScopeOf, tmp_path: Path
) -> None:
    kept: list[JournalEntry] = []
    script = asks({"cmd": "list", "path": "."})
    answers(run(script, scope_of, Recorder((), kept.append)))
    (tmp_path / "new").touch()

    code, message = failure(run(script, scope_of, Recorder(kept, kept.append)))

    assert code == ErrorCode.INPUT_CHANGED
    assert "`list`" in message
