"""The check of what clients saw finds each kind of broken promise."""

import pytest

from crash.history import History, Reading, stage, violations
from cuttlebone_abi import Completed, JobStatus, Usage

QUEUED = stage(JobStatus.QUEUED, 0)
RUNNING = stage(JobStatus.RUNNING, 1)
AGAIN = stage(JobStatus.QUEUED, 1)
FINAL = stage(JobStatus.COMPLETED, 2)


def done(result: int) -> Completed:
    usage = Usage(tokens_in=0, tokens_out=0, duration_ms=0, model="")
    return Completed(result=result, usage=usage)


def history(*readings: Reading) -> History:
    return History({"a": None}, list(readings))


END = Reading("a", 90, 91, FINAL, done(1))


def test_a_life_with_a_crash_breaks_no_promise() -> None:
    stages = [QUEUED, RUNNING, AGAIN, stage(JobStatus.RUNNING, 2)]
    readings = [Reading("a", at, at + 0.5, one) for at, one in enumerate(stages)]

    assert violations(history(*readings, END)) == []


def test_answers_that_overlap_may_come_in_any_order() -> None:
    assert violations(history(Reading("a", 1, 5, RUNNING), Reading("a", 2, 6, QUEUED), END)) == []


@pytest.mark.parametrize(
    ("readings", "broken"),
    [
        ([Reading("a", 1, 2, QUEUED)], "a was accepted and has no envelope"),
        (
            [Reading("a", 1, 2, QUEUED), Reading("a", 3, 4, None), END],
            "a was accepted and then unknown",
        ),
        (
            [Reading("a", 1, 2, RUNNING), Reading("a", 3, 4, QUEUED), END],
            f"a went back from stage {RUNNING} to {QUEUED}",
        ),
        (
            [END, Reading("a", 92, 93, RUNNING)],
            f"a went back from stage {FINAL} to {RUNNING}",
        ),
        ([END, Reading("a", 92, 93, FINAL, done(2))], "a has 2 envelopes"),
    ],
)
def test_each_broken_promise_is_found(readings: list[Reading], broken: str) -> None:
    assert violations(history(*readings)) == [broken]
