"""One `infer` run as a job, on a thread with a scripted model."""

from collections.abc import Callable
from typing import Any

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import JobScope
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.execution.runner import run_job
from cuttlebone.files import Grants
from cuttlebone.job_options import Limits
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import (
    Envelope,
    Failed,
    Json,
    Signature,
)
from job_scopes import granted


class Told:
    """An event sink that remembers pieces."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def progress(self, value: Json) -> None:
        raise AssertionError(f"nobody emits here, but {value} came")

    def token(self, text: str) -> None:
        self.tokens.append(text)

    def waiting(self, cause: str) -> None:
        """Drop it: the model of these tests may still be loading."""


class Bench:
    """Runs one `infer` as a job."""

    def __init__(self, endpoint: Endpoint, grants: Grants) -> None:
        self._endpoint = endpoint
        self._grants = grants
        self.told = Told()
        self.events: list[dict[str, Any]] = []

    def scope(self, *, defaults: InferDefaults | None = None, **limits: int) -> JobScope:
        return JobScope(
            job="a-job",
            tenant="local",
            grants=self._grants,
            model=granted("small", self._endpoint, defaults),
            events=self.told,
            budget=Budget(Limits(**limits)),
        )

    def run(
        self,
        command: dict[str, Any],
        scope: JobScope | None = None,
        *,
        times: int = 1,
        on_token: Callable[[str], bool] | None = None,
    ) -> Envelope:
        def script(_guest: ScriptedGuest, _value: Json) -> Commands:
            for _ in range(times):
                self.events.append((yield {"cmd": "infer", "max_tokens": 20, **command}))
            yield {"cmd": "done", "result": None}

        guest = ScriptedGuest(script, on_token=on_token)
        return run_job(guest, scope or self.scope(), IoSchemas(Signature()), b"null")


def failure(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed)
    return envelope.error.code, envelope.error.message
