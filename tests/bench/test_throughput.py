"""The throughput of a model, measured on a scripted one."""

from itertools import count

import pytest

from cuttlebone.bench.throughput import Load, measure
from cuttlebone.errors import OperatorError
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import FakeModel


def test_all_generations_of_a_round_are_counted() -> None:
    thread = InferenceThread(lambda _report: FakeModel({"sea": "one two three four"}))
    thread.start()
    seconds = count()
    found = measure(thread, Load(3, prompt_words=8, max_tokens=2), clock=lambda: next(seconds))
    thread.stop()

    assert found.tokens_out == 3 * 2
    assert found.tokens_in > 3 * 8
    assert (found.seconds, found.tokens_per_s) == (1, 6)


def test_a_prompt_over_the_context_is_said_so() -> None:
    thread = InferenceThread(lambda _report: FakeModel(context_tokens=20))
    thread.start()
    with pytest.raises(OperatorError, match="context"):
        measure(thread, Load(1, prompt_words=50, max_tokens=2))
    thread.stop()


def test_a_model_that_cannot_be_loaded_is_said_so() -> None:
    def load(_report: Report) -> FakeModel:
        raise OperatorError("no such file")

    thread = InferenceThread(load)
    thread.start()
    with pytest.raises(OperatorError, match="no such file"):
        measure(thread, Load(1, prompt_words=1, max_tokens=1))
    thread.stop()
