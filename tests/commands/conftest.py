"""A thread with a scripted model, and a bench to run `infer` on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.infer_bench import Bench
from cuttlebone.files import Grants
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import FakeModel
from job_scopes import scope_of, told

__all__ = ["bench", "grants", "model", "scope_of", "thread", "told"]


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(
        {"count": "one two three four five", "silence": "", "overlong": "a " * 50},
        context_tokens=200,
    )


@pytest.fixture
def thread(model: FakeModel) -> Iterator[InferenceThread]:
    serving = InferenceThread(lambda _report: model)
    serving.start()
    yield serving
    model.release()
    serving.stop()


@pytest.fixture
def grants(tmp_path: Path) -> Iterator[Grants]:
    with Grants.resolve(tmp_path, []) as found:
        yield found


@pytest.fixture
def bench(thread: InferenceThread, grants: Grants) -> Bench:
    return Bench(thread, grants)
