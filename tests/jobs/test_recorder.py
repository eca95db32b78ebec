"""What a recorder keeps of each step, and what it notices when a job is driven through it again."""

import pytest

from cuttlebone.errors import JobError
from cuttlebone.jobs.journal import JournalEntry, Recording
from cuttlebone.jobs.recorder import CarriedOut, Recorder
from cuttlebone_abi import (
    Answered,
    Emit,
    Emitted,
    ErrorCode,
    Finish,
    Infer,
    InferDone,
    dump_json,
)

EMIT = Emit(cmd="emit", progress="x" * 80)
EMITTED = dump_json(Emitted())
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
