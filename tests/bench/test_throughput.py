"""The throughput of a model, measured on a scripted one."""

from itertools import count

import pytest

from cuttlebone.bench.throughput import Load, measure
from cuttlebone.errors import OperatorError
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import FakeModel


def test_all_generations_of_a_round_are_counted() -> None:
    seconds = count()
    with InferenceThread(lambda _report: FakeModel({"sea": "one two three four"})) as thread:
        found = measure(thread, Load(3, prompt_words=8, max_tokens=2), clock=lambda: next(seconds))

    assert found.tokens_out == 3 * 2
    assert found.tokens_in > 3 * 8
    assert (found.seconds, found.tokens_per_s) == (1, 6)


def test_a_prompt_over_the_context_is_said_so() -> None:
    with (
        InferenceThread(lambda _report: FakeModel(context_tokens=20)) as thread,
        pytest.raises(OperatorError, match="context"),
    ):
        measure(thread, Load(1, prompt_words=50, max_tokens=2))


def test_a_model_that_cannot_be_loaded_is_said_so() -> None:
    def load(_report: Report) -> FakeModel:
        raise OperatorError("no such file")

    with (
        InferenceThread(load) as thread,
        pytest.raises(OperatorError, match="no such file"),
    ):
        measure(thread, Load(1, prompt_words=1, max_tokens=1))
