"""What one job may touch: its files, its model, its watchers, its budget."""

from dataclasses import InitVar, dataclass, field
from typing import Protocol

from cuttlebone.commands.account import JobAccount
from cuttlebone.commands.budget import Budget
from cuttlebone.files import Grants, HandleTable
from cuttlebone.generation.inference import Inference
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone_abi import Json


class EventSink(Protocol):
    """Where a job's watchers are told of it."""

    def progress(self, value: Json) -> None:
        """Pass on what the guest emitted."""

    def token(self, text: str) -> None:
        """Pass on a piece of generated text."""

    def waiting(self, cause: str) -> None:
        """Say what the job is waiting for."""


@dataclass(frozen=True, slots=True)
class GrantedModel:
    """The model that a spec names: its role, and through what it is asked."""

    role: str
    inference: Inference
    defaults: InferDefaults


@dataclass(slots=True)
class JobScope:
    """All that one job may touch. Owner: its job thread, which closes it."""

    job: str
    tenant: str
    grants: InitVar[Grants]
    model: GrantedModel | None
    """None when the spec names no model: the job may not infer."""
    events: EventSink
    budget: Budget
    interactive: bool = False
    """Whether somebody waits for the job, so that its prompts go before those of others."""
    files: HandleTable = field(init=False)
    """What it has opened of what was granted."""
    account: JobAccount = field(init=False)
    """What its generations have cost."""

    def __post_init__(self, grants: Grants) -> None:
        """Open nothing yet; bound what may be open, and pay for generations, by the budget."""
        limits = self.budget.limits
        self.files = HandleTable(
            grants, handles_max=limits.handles, window_bytes_max=limits.window_bytes
        )
        self.account = JobAccount(self.budget)

    def close(self) -> None:
        """Close the files that are still open."""
        self.files.close_all()
