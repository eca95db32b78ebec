"""What the services answer with, besides jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Weakness
from cuttlebone.generation.state import Phase
from cuttlebone.job_options import Limits
from cuttlebone.specs.block_registry import DIGEST_PREFIX, BlockSummary
from cuttlebone_abi import Json


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model of the host."""

    role: str
    state: Phase
    reason: str
    """Why it failed, else empty."""
    file: str
    context_tokens: int | None
    """None until it is loaded."""
    progress: float | None = None
    """While it is loading, the part of that which is done, 0 to 1."""
    generations_max: int | None = None
    """Generations at once; None until it is loaded."""
    exact: bool | None = None
    """Whether texts never depend on neighbours; None until it is loaded."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the host can serve all that it is set up to serve, and why not."""

    reasons: tuple[str, ...]
    layers: Mapping[str, str | None] = field(default_factory=dict)
    """Each layer around a guest: None where it holds, else why it does not."""

    @property
    def ready(self) -> bool:
        """Whether there is no reason against it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block of this host."""

    summary: BlockSummary
    uploaded: bool
    """Whether it was uploaded; else it is a file that a spec names."""
    specs: tuple[str, ...]
    """Names of the specs that run it."""

    @property
    def digest(self) -> str:
        """What a spec names it by: `sha256:` and 64 digits."""
        return self.summary.digest

    @property
    def digits(self) -> str:
        """The 64 hexadecimal digits of its digest."""
        return self.digest.removeprefix(DIGEST_PREFIX)


@dataclass(frozen=True, slots=True)
class KnownSpec:
    """A spec that can be submitted."""

    name: str
    description: str
    model: str | None
    """Role of the model; None where its jobs do not infer."""
    block: BlockSummary
    input_schema: Json
    output_schema: Json
    limits: Limits
    """What one job may use: spec and host together."""
    read: tuple[str, ...]
    """Files and folders that its jobs may read, as written in the spec."""
    follow_symlinks: bool
    data_policy: str


def model_statuses(endpoints: EndpointDirectory) -> Sequence[ModelStatus]:
    """Every role with the state of its model."""
    return [_status(endpoints, role) for role in endpoints.roles]


def _status(endpoints: EndpointDirectory, role: str) -> ModelStatus:
    endpoint = endpoints.roles[role]
    state, capabilities = endpoint.state, endpoint.capabilities
    known = capabilities.slots is not None
    return ModelStatus(
        role=role,
        state=state.phase,
        progress=state.progress,
        reason=state.reason,
        file=endpoints.file(role),
        context_tokens=capabilities.context_tokens,
        generations_max=capabilities.slots,
        exact=Weakness.UNREPEATABLE not in capabilities.weakens if known else None,
    )
