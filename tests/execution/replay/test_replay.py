"""Replay: a block driven through what was recorded, without a model, and where it differs."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.replay import End
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.job.recorded_job import read_recorded_job
from cuttlebone.job_options import Recording
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Cancelled, Completed, Failure, Json, Usage, dump_json
from execution.recordings import BLOCK_SHA256, MORE, TEXT, again, again_with_files, changed, record


@pytest.mark.parametrize("state", ["memory", "durable"])
def test_a_job_recorded_in_full_is_replayed_without_model_and_files(
    folder: Path, state: str
) -> None:
    where = None if state == "memory" else folder / "state"
    recorded = record(folder, recording=Recording.FULL, state=where)
    (folder / "texts" / "a.txt").unlink()

    shown = again(recorded)

    assert (shown.end, shown.divergence) == (End.SAME, None)
    assert [step.step for step in shown.steps] == [1, 2, 3, 4, 5, 6]
    assert '"cmd":"infer"' in shown.steps[3].command


def test_a_job_recorded_as_digests_is_replayed_with_its_files(folder: Path) -> None:
    assert again_with_files(record(folder), folder).end is End.SAME


def test_a_replay_knows_whether_the_block_is_the_one_that_ran(folder: Path) -> None:
    recorded = record(folder, recording=Recording.FULL)
    same, other = again(recorded), again(recorded, block_sha256="f" * 64)

    assert (same.recorded_block_sha256, same.of_another_block) == (BLOCK_SHA256, False)
    assert (other.end, other.of_another_block) == (End.SAME, True)


def test_a_job_recorded_before_its_block_was_noted_is_replayed_all_the_same(folder: Path) -> None:
    document = record(folder, recording=Recording.FULL).model_dump(mode="json")
    del document["block_sha256"], document["spec_sha256"]
    shown = again(read_recorded_job(dump_json(document), "an old export"))

    assert (shown.end, shown.of_another_block) == (End.SAME, False)


def test_digests_alone_cannot_be_replayed_without_files(folder: Path) -> None:
    with pytest.raises(OperatorError, match=r"step 1, `open`, .* `record: full`"):
        again(record(folder))


def test_another_command_is_named_with_both_versions(folder: Path) -> None:
    recorded = record(folder, recording=Recording.FULL)

    shown = again(recorded, changed(infer={"cmd": "infer", "prompt": "Count!", "max_tokens": 20}))

    assert len(shown.steps) == 3
    found = shown.divergence
    assert found is not None
    assert (found.step, found.what) == (4, "command")
    assert '"prompt":"count"' in found.recorded
    assert '"prompt":"Count!"' in found.instead


def test_another_command_against_a_digest_is_named_by_kind(folder: Path) -> None:
    shown = again_with_files(record(folder), folder, changed(emit={"cmd": "emit", "progress": 1}))

    found = shown.divergence
    assert found is not None
    assert found.step == 3
    assert found.recorded.startswith("`emit`, kept as its digest sha256:")
    assert found.instead == '{"cmd":"emit","progress":1}'


@pytest.mark.parametrize("recording", Recording)
def test_a_file_with_another_content_is_noticed(folder: Path, recording: Recording) -> None:
    recorded = record(folder, recording=recording)
    (folder / "texts" / "a.txt").write_text(TEXT.replace("sea", "tea"))

    found = again_with_files(recorded, folder).divergence

    assert found is not None
    assert (found.step, found.what) == (2, "event")
    assert "tea" in found.instead
    assert ("sea" in found.recorded) == (recording is Recording.FULL)


def test_a_file_that_is_gone_is_noticed(folder: Path) -> None:
    recorded = record(folder)
    (folder / "texts" / "a.txt").unlink()

    found = again_with_files(recorded, folder).divergence

    assert found is not None
    assert (found.step, found.what) == (1, "end")
    assert "not_found" in found.instead


def test_another_result_is_noticed(folder: Path) -> None:
    found = again(
        record(folder, recording=Recording.FULL), changed(done={"cmd": "done", "result": 1})
    ).divergence

    assert found is not None
    assert (found.step, found.what) == (7, "end")
    assert "one two three" in found.recorded
    assert found.instead == '{"status":"completed","result":1}'


def test_an_earlier_end_is_noticed(folder: Path) -> None:
    fails = changed(close={"cmd": "fail", "code": "tired", "message": "enough"})

    found = again(record(folder, recording=Recording.FULL), fails).divergence

    assert found is not None
    assert (found.step, found.what) == (5, "end")
    assert '"cmd":"close"' in found.recorded
    assert "tired" in found.instead


@pytest.mark.parametrize(
    "more", [{"cmd": "emit", "progress": 1}, {"cmd": "infer", "prompt": "x", "max_tokens": 1}]
)
def test_a_block_that_goes_on_beyond_the_recorded_end_is_noticed(folder: Path, more: Json) -> None:
    found = again(record(folder, recording=Recording.FULL), changed(done=more)).divergence

    assert found is not None
    assert (found.step, found.what) == (7, "end")
    assert "completed" in found.recorded
    assert f'"cmd":"{more["cmd"]}"' in found.instead


def test_what_a_block_says_to_each_piece_is_compared(folder: Path) -> None:
    def stop(piece: str) -> bool:
        return "two" in piece

    recorded = record(folder, recording=Recording.FULL, on_token=stop)
    assert again(recorded, on_token=stop).end is End.SAME

    found = again(recorded, on_token=lambda _piece: False).divergence
    assert found is not None
    assert (found.step, found.what) == (4, "verdict")
    assert (found.recorded, found.instead) == ("stop after piece 2", "go on, 2 pieces")


def test_a_job_that_failed_by_itself_fails_again(folder: Path) -> None:
    def denied(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "emit", "progress": 1}
        yield {"cmd": "open", "path": "/etc/passwd"}

    recorded = record(folder, denied)
    assert again_with_files(recorded, folder, denied).end is End.SAME


def test_whatever_only_a_model_can_answer_comes_from_the_journal(folder: Path) -> None:
    def asking(_guest: ScriptedGuest, _value: Json) -> Commands:
        counted = yield {"cmd": "count_tokens", "text": "count"}
        request = {"prompt": "count", "max_tokens": 20}
        many = yield {"cmd": "infer_many", "requests": [request, request]}
        yield {"cmd": "done", "result": [counted["tokens"], len(many["results"])]}

    recorded = record(folder, asking)

    assert isinstance(recorded.envelope, Completed)
    assert again(recorded, asking).end is End.SAME
    again_without_end = recorded.model_copy(update={"steps": recorded.steps[:1], "envelope": None})
    assert again(again_without_end, asking).end is End.JOURNAL_OVER


@pytest.mark.parametrize("limits", ["{steps: 3}", "{events: 1}"])
def test_a_limit_is_reached_again(folder: Path, limits: str) -> None:
    def endless(_guest: ScriptedGuest, _value: Json) -> Commands:
        while True:
            yield {"cmd": "emit", "progress": 1}

    recorded = record(folder, endless, more=f"limits: {limits}")
    assert again(recorded, endless).end is End.SAME


def test_a_generation_that_ended_its_job_is_where_the_journal_is_over(folder: Path) -> None:
    def greedy(_guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "infer", "prompt": "count", "max_tokens": 0}

    shown = again(record(folder, greedy), greedy)

    assert (shown.end, shown.steps) == (End.JOURNAL_OVER, ())


def test_a_time_limit_that_the_job_ran_into_says_nothing_about_the_block(folder: Path) -> None:
    def slow(guest: ScriptedGuest, _value: Json) -> Commands:
        yield {"cmd": "emit", "progress": 1}
        guest.spin()

    recorded = record(folder, slow, more="limits: {time_ms: 50}")
    with Watchdog() as watchdog:
        shown = again(recorded, slow, watchdog=watchdog)

    assert (shown.end, len(shown.steps)) == (End.JOURNAL_OVER, 1)


def endless(guest: ScriptedGuest, _value: Json) -> Commands:
    """Do a little, and then nothing more that a host could see."""
    yield {"cmd": "emit", "progress": 1}
    yield {"cmd": "infer", "prompt": "count", "max_tokens": 20}
    guest.spin()


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_replay_ends_where_the_journal_of_a_cancelled_job_does(folder: Path, steps: int) -> None:
    """No watchdog is there to end it: a replay that went on would not come back."""
    spent = Usage(tokens_in=0, tokens_out=0, duration_ms=1, model="")
    cancelled = Cancelled(error=Failure(code="cancelled", message="by request"), usage=spent)
    whole = record(
        folder, endless, recording=Recording.FULL, more=f"{MORE}\nlimits: {{time_ms: 500}}"
    )
    recorded = whole.model_copy(update={"steps": whole.steps[:steps], "envelope": cancelled})

    shown = again(recorded, endless)

    assert (shown.end, len(shown.steps)) == (End.JOURNAL_OVER, steps)
    assert len(whole.steps) == 2
