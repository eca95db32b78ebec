"""Watchers of a job are told when it waits for its model: once for each command that does."""

import pytest

from bounds import scaled
from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import JobScope
from cuttlebone.execution.runner import run_job
from cuttlebone.files import Grants
from cuttlebone.generation.state import Phase, State
from cuttlebone.job_options import Limits
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import ScriptedEndpoint, ScriptedGuest
from cuttlebone_abi import Completed, Envelope, Failed, Json, Signature
from execution.scripts import says
from job_scopes import granted

BOUND_S = scaled(20.0)
INFER: Json = {"cmd": "infer", "prompt": "x", "max_tokens": 1}
DONE: Json = {"cmd": "done", "result": None}
COMMANDS: list[Json] = [
    INFER,
    {
        "cmd": "infer_many",
        "requests": [{"prompt": "x", "max_tokens": 1}, {"prompt": "y", "max_tokens": 1}],
    },
    {"cmd": "count_tokens", "text": "x"},
]


class Told:
    """An event sink that remembers what was waited for, and lets the model load then."""

    def __init__(self, endpoint: ScriptedEndpoint | None) -> None:
        self.causes: list[str] = []
        self._endpoint = endpoint

    def progress(self, value: Json) -> None:
        raise AssertionError(f"nobody emits here, but {value} came")

    def token(self, text: str) -> None:
        """Drop it."""

    def waiting(self, cause: str) -> None:
        assert self._endpoint is not None, f"nothing loads here, but a job waited for {cause}"
        self.causes.append(cause)
        self._endpoint.become(State(Phase.READY))


def run(
    commands: list[Json], endpoint: ScriptedEndpoint | None, grants: Grants
) -> tuple[Envelope, list[str]]:
    """Run commands one after another as a job; answer what it waited for as well."""
    told = Told(endpoint)
    scope = JobScope(
        job="a-job",
        tenant="local",
        grants=grants,
        model=granted("main", endpoint),
        events=told,
        budget=Budget(Limits()),
    )
    envelope = run_job(ScriptedGuest(says(*commands, DONE)), scope, IoSchemas(Signature()), b"null")
    return envelope, told.causes


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_waits_for_the_model_says_so_once(command: Json, grants: Grants) -> None:
    loading = ScriptedEndpoint(state=State(Phase.LOADING))
    envelope, causes = run([command, INFER], loading, grants)

    assert isinstance(envelope, Completed)
    assert causes == ["the model `main` to be loaded"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_model_is_there_says_nothing(command: Json, grants: Grants) -> None:
    envelope, causes = run([command], ScriptedEndpoint(), grants)

    assert isinstance(envelope, Completed)
    assert causes == []


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2]])
def test_a_command_that_is_refused_waits_for_nothing(command: Json, grants: Grants) -> None:
    envelope, causes = run([command], None, grants)

    assert isinstance(envelope, Failed)
    assert causes == []
