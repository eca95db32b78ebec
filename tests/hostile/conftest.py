"""A target for attacks in each kind of isolation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.files import Grants
from cuttlebone.sandbox import CompileLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone.testing import ScriptedModel
from hostile.harness import Target, prepare


@pytest.fixture(scope="session", params=[Isolation.THREAD, Isolation.PROCESS])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    folder: Path = tmp_path_factory.mktemp("granted")
    prepare(folder)
    model = LocalEndpoint(lambda _report: ScriptedModel({"x": "one two three four five"}))
    model.start()
    # Bombs are told by processor time; one second of it is plenty for everything else here.
    compiling = CompileLimits(cpu_s=1, data_bytes=512 << 20)
    with (
        Grants.resolve(folder, ["."]) as grants,
        Sandbox(isolation=request.param, compile_limits=compiling, probe_s_max=3.0) as sandbox,
    ):
        attacked = Target(sandbox, grants, model)
        yield attacked
        attacked.close()
    model.stop()
