"""What a recorder keeps of each step, and what it notices when a job is driven through it again."""

import pytest

from cuttlebone.errors import JobError
from cuttlebone.execution.recorder import CarriedOut, Recorder
from cuttlebone.job.journal import JournalEntry, JournalPart, digest
from cuttlebone.job_options import Recording
from cuttlebone_abi import (
    Answered,
    Emit,
    Emitted,
    ErrorCode,
    Finish,
    Infer,
    InferDone,
    InferMany,
    InferRequest,
    InferResult,
    dump_json,
    load_json,
)

EMIT = Emit(cmd="emit", progress="x" * 80)
EMITTED = dump_json(Emitted())
MANY = InferMany(
    cmd="infer_many", requests=tuple(InferRequest(prompt=one, max_tokens=9) for one in "abc")
)
INFER = Infer(cmd="infer", prompt="count", max_tokens=9)


def generated(finish: Finish) -> bytes:
    return dump_json(
        InferDone(text="one two", tokens_out=2, finish=finish, tokens_in=5, tokens_cached=0, seed=1)
    )


def keep(recorder: Recorder, step: int, command: Answered, event: bytes) -> None:
    reply = dump_json(command)
    recorder.keep(CarriedOut(step, command.cmd, reply, event, pieces=("one", " two")))


def test_what_earlier_attempts_kept_counts_towards_the_bytes_of_a_job() -> None:
    kept: list[JournalEntry] = []
    size = len(dump_json(EMIT)) + len(EMITTED)
    first = Recorder((), kept.append, recording=Recording.FULL, bytes_max=2 * size)
    keep(first, 1, EMIT, EMITTED)
    second = Recorder(kept[:], kept.append, recording=Recording.FULL, bytes_max=2 * size)
    keep(second, 1, EMIT, EMITTED)
    keep(second, 2, EMIT, EMITTED)
    keep(second, 3, EMIT, EMITTED)

    assert [(entry.step, entry.event is not None) for entry in kept] == [
        (1, True),
        (2, True),
        (3, False),
    ]


def test_a_generation_is_kept_whole_whatever_was_kept_before() -> None:
    kept: list[JournalEntry] = []
    keep(Recorder((), kept.append, bytes_max=1), 1, INFER, generated(Finish.EOS))

    assert (kept[0].event, kept[0].pieces) == (generated(Finish.EOS), ("one", " two"))


@pytest.mark.parametrize(
    ("finish", "verdicts", "same"),
    [
        (Finish.EOS, [False, False], True),
        (Finish.GUEST, [False, True], True),
        (Finish.LENGTH, [False, True], True),
        (Finish.EOS, [], True),
        (Finish.GUEST, [False, False], False),
        (Finish.EOS, [True, False], False),
    ],
)
def test_a_guest_that_stops_elsewhere_than_before_is_noticed(
    finish: Finish, verdicts: list[bool], *, same: bool
) -> None:
    kept: list[JournalEntry] = []
    keep(Recorder((), kept.append), 1, INFER, generated(finish))
    again = Recorder(kept, kept.append)
    entry = again.recall(1, INFER, dump_json(INFER))

    assert entry is not None
    if same:
        again.listened(entry, verdicts)
        return
    with pytest.raises(JobError) as caught:
        again.listened(entry, verdicts)
    assert caught.value.code is ErrorCode.INPUT_CHANGED


def result(text: str) -> InferResult:
    return InferResult(
        text=text, tokens_out=2, finish=Finish.EOS, tokens_in=5, tokens_cached=3, seed=7
    )


def parts_of(command: InferMany, *numbers: int, step: int = 1) -> list[JournalPart]:
    """What an attempt that dies leaves of the first step."""
    kept: list[JournalPart] = []
    first = Recorder((), _fails_to_keep, keep_part=kept.append)
    parts = first.parts(step, dump_json(command))
    for number in numbers:
        parts.keep(number, result(f"said {number} ü"))
    return kept


def _fails_to_keep(entry: JournalEntry) -> None:
    raise AssertionError(f"the step has not ended, but {entry} came")


def test_a_part_says_of_which_command_it_is_and_what_it_came_to() -> None:
    (part,) = parts_of(MANY, 2, step=4)

    assert (part.step, part.number) == (4, 2)
    assert part.command_sha256 == digest(dump_json(MANY))
    assert load_json(part.result) == result("said 2 ü").model_dump(mode="json")


def test_parts_of_an_earlier_attempt_are_recalled_for_their_step_alone() -> None:
    left = parts_of(MANY, 2, 0)
    again = Recorder((), _fails_to_keep, parts=left, keep_part=left.append)

    assert again.recall(1, MANY, dump_json(MANY)) is None
    assert again.parts(1, dump_json(MANY)).recalled == {
        2: result("said 2 ü"),
        0: result("said 0 ü"),
    }
    assert again.parts(2, dump_json(MANY)).recalled == {}


@pytest.mark.parametrize("command", [INFER, EMIT, MANY.model_copy(update={"requests": ()})])
def test_another_command_than_that_of_the_parts_is_noticed(command: Answered) -> None:
    again = Recorder((), _fails_to_keep, parts=parts_of(MANY, 1))
    with pytest.raises(JobError, match=r"step 1: .* said `infer_many`, and now") as caught:
        again.recall(1, command, dump_json(command))

    assert caught.value.code is ErrorCode.INPUT_CHANGED
