"""Watchers of a job are told when it waits for its model: once for each command that does."""

import threading

import pytest

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import Generator, JobScope, Model
from cuttlebone.endpoints.local import Unserved
from cuttlebone.execution.runner import run_job
from cuttlebone.files import Grants, HandleTable
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.job_options import Limits
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import FakeModel, ScriptedGuest
from cuttlebone_abi import Completed, Envelope, Failed, Json, Signature
from execution.scripts import says

BOUND_S = 20.0
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

    def __init__(self) -> None:
        self.may_load = threading.Event()
        self.causes: list[str] = []

    def load(self, _report: Report) -> FakeModel:
        assert self.may_load.wait(BOUND_S)
        return FakeModel()

    def progress(self, value: Json) -> None:
        raise AssertionError(f"nobody emits here, but {value} came")

    def token(self, text: str) -> None:
        """Drop it."""

    def waiting(self, cause: str) -> None:
        self.causes.append(cause)
        self.may_load.set()


def run(commands: list[Json], generator: Generator, told: Told, grants: Grants) -> Envelope:
    """Run commands one after another as a job."""
    scope = JobScope(
        job="a-job",
        tenant="local",
        files=HandleTable(grants, handles_max=1, window_bytes_max=4),
        model=Model("main", generator, InferDefaults()),
        events=told,
        budget=Budget(Limits()),
    )
    return run_job(ScriptedGuest(says(*commands, DONE)), scope, IoSchemas(Signature()), b"null")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_waits_for_the_model_says_so_once(command: Json, grants: Grants) -> None:
    told = Told()
    thread = InferenceThread(told.load)
    thread.start()
    envelope = run([command, INFER], thread, told, grants)
    thread.stop()

    assert isinstance(envelope, Completed)
    assert told.causes == ["the model `main` to be loaded"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_model_is_there_says_nothing(command: Json, grants: Grants) -> None:
    told = Told()
    told.may_load.set()
    thread = InferenceThread(told.load)
    thread.start()
    thread.wait_until_settled(BOUND_S)
    envelope = run([command], thread, told, grants)
    thread.stop()

    assert isinstance(envelope, Completed)
    assert told.causes == []


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2]])
def test_a_command_that_is_refused_waits_for_nothing(command: Json, grants: Grants) -> None:
    told = Told()
    envelope = run([command], Unserved("main"), told, grants)

    assert isinstance(envelope, Failed)
    assert told.causes == []
