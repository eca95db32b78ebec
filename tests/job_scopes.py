"""Scopes over a real folder, for tests of what one job may touch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import GrantedModel, JobScope
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.files import Grants
from cuttlebone.job_options import Limits
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone_abi import Json


@dataclass(slots=True)
class Told:
    """An event sink that remembers."""

    progress_values: list[Json] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def progress(self, value: Json) -> None:
        self.progress_values.append(value)

    def token(self, text: str) -> None:
        self.tokens.append(text)

    def waiting(self, cause: str) -> None:
        raise AssertionError(f"nothing loads here, but a job waited for {cause}")


ScopeOf = Callable[..., JobScope]


def granted(
    role: str, endpoint: Endpoint | None, defaults: InferDefaults | None = None
) -> GrantedModel:
    """The model that a job may ask; without an endpoint it is not served."""
    roles = {} if endpoint is None else {role: endpoint}
    inference = EndpointInference(EndpointDirectory(roles))
    return GrantedModel(role, inference, defaults or InferDefaults())


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def scope_of(tmp_path: Path, told: Told) -> Iterator[ScopeOf]:
    """Makes scopes whose files are those of `tmp_path`, with the given limits and model."""
    with Grants.resolve(tmp_path, ["."]) as grants:
        scopes: list[JobScope] = []

        def make(*, model: GrantedModel | None = None, **limits: int) -> JobScope:
            scope = JobScope(
                job="a-job",
                tenant="local",
                grants=grants,
                model=model,
                events=told,
                budget=Budget(Limits(**limits)),
            )
            scopes.append(scope)
            return scope

        yield make
        for scope in scopes:
            scope.close()
