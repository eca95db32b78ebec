"""Runs an attack as a whole job: admitted, opened, stepped and ended as a host would do it."""

import os
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import JobScope
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.errors import BlockRefused, JobError
from cuttlebone.execution.runner import failure_of, run_job
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.files import Grants
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import Cancelled, Completed, Json
from job_scopes import granted

REFUSED = "refused"
COMPLETED = "completed"

LIMITS = Limits(
    time_ms=60_000,
    steps=500,
    events=100,
    event_bytes=8 << 20,
    handles=8,
    infer_calls=20,
    tokens_out=200,
)
"""Low, so that each flood meets the limit that is meant for it soon."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attack ended: an error code, REFUSED at admission, or COMPLETED; and what was said."""

    code: str
    message: str = ""


@dataclass(slots=True)
class Silence:
    """An event sink that only counts."""

    events: int = 0
    pieces: list[str] = field(default_factory=list)

    def progress(self, value: Json) -> None:  # noqa: ARG002  # a sink has to take it
        self.events += 1

    def token(self, text: str) -> None:
        self.pieces.append(text)

    def waiting(self, cause: str) -> None:
        """Drop it."""


class Target:
    """A sandbox, a folder with one file, a model: what attacks are run against.

    Owned by the test that made it; `run` may be called from several threads.
    """

    def __init__(self, sandbox: Sandbox, grants: Grants, endpoint: Endpoint) -> None:
        self.sandbox = sandbox
        self._grants = grants
        self._endpoint = endpoint
        self._watchdog = Watchdog()
        self._watchdog.start()

    def close(self) -> None:
        self._watchdog.stop()

    def run(self, wasm: bytes, limits: Limits = LIMITS, *, budget: Budget | None = None) -> Outcome:
        """Admit a module and run it as one job, within `budget` if the caller wants to stop it."""
        try:
            block = self.sandbox.admit(wasm)
        except BlockRefused as error:
            return Outcome(REFUSED, str(error))
        try:
            guest = self.sandbox.open_guest(block, GuestLimits.of(limits))
        except JobError as error:
            failure = failure_of(error)
            return Outcome(failure.code, failure.message)
        return self.run_guest(guest, budget or Budget(limits), IoSchemas(block.signature))

    def run_guest(self, guest: Guest, budget: Budget, io_schemas: IoSchemas) -> Outcome:
        """Step a guest to its end as one job, and close it."""
        scope = self._scope(budget)
        with closing(guest), self._watchdog.watch(budget):
            try:
                envelope = run_job(guest, scope, io_schemas, b"null")
            finally:
                scope.close()
        match envelope:
            case Completed():
                return Outcome(COMPLETED)
            case Cancelled(error=failure):
                return Outcome("cancelled", failure.message)
            case _:
                return Outcome(envelope.error.code, envelope.error.message)

    def _scope(self, budget: Budget) -> JobScope:
        return JobScope(
            job=f"job-{threading.get_ident()}",
            tenant="local",
            grants=self._grants,
            model=granted("small", self._endpoint),
            events=Silence(),
            budget=budget,
        )


def prepare(folder: Path) -> None:
    """Lay out what attacks may look for: one granted file, and traps around it."""
    (folder / "a.txt").write_text("one line\n")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "bytes").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(folder / "pipe")
