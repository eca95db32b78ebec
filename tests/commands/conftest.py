"""A thread with a scripted model, and a bench to run `infer` on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.infer_bench import Bench
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.files import Grants
from cuttlebone.testing import ScriptedModel
from job_scopes import scope_of, told

__all__ = ["bench", "endpoint", "grants", "model", "scope_of", "told"]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(
        {"count": "one two three four five", "silence": "", "overlong": "a " * 50},
        context_tokens=200,
    )


@pytest.fixture
def endpoint(model: ScriptedModel) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(lambda _report: model) as serving:
        yield serving
        model.release()


@pytest.fixture
def grants(tmp_path: Path) -> Iterator[Grants]:
    with Grants.resolve(tmp_path, []) as found:
        yield found


@pytest.fixture
def bench(endpoint: LocalEndpoint, grants: Grants) -> Bench:
    return Bench(endpoint, grants)
