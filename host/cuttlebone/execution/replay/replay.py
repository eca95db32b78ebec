"""Drives a block through the journal of a recorded job, without a model, and says where it diverges.

The step loop is that of a real job. Only the answers differ: generations come from the journal, and
so does everything else if the files are left aside.
"""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import JobScope
from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.replayer import FILE_COMMANDS, Divergence, ReplayedStep, Replayer
from cuttlebone.execution.runner import run_job
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.files import Grants, HandleTable
from cuttlebone.job.job import TENANT
from cuttlebone.job.journal import JournalEntry
from cuttlebone.job.recorded_job import RecordedJob
from cuttlebone.sandbox import Guest
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import Json, dump_json


class End(StrEnum):
    """How a replay ended."""

    SAME = "same"
    """Every recorded step, and the recorded end."""
    JOURNAL_OVER = "journal_over"
    """Every recorded step; how the job ended then was not the block's doing, or it has not ended."""
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay has shown."""

    steps: tuple[ReplayedStep, ...]
    end: End
    divergence: Divergence | None

    @property
    def same(self) -> bool:
        """Whether nothing was different from the record."""
        return self.divergence is None


class _NoWatchers:
    """An event sink for a job that nobody watches."""

    def progress(self, value: Json) -> None:
        """Tell nobody."""

    def token(self, text: str) -> None:
        """Tell nobody."""

    def waiting(self, cause: str) -> None:
        """Tell nobody."""


def replay(
    guest: Guest,
    recorded: RecordedJob,
    io_schemas: IoSchemas,
    files: HandleTable | None = None,
    *,
    watchdog: Watchdog | None = None,
) -> Replay:
    """Drive `guest`, a fresh one, through what was recorded, and tell how far that went.

    With `files` they are read again and compared; without, every answer is from the journal,
    and OperatorError is raised if it does not have them all. `watchdog` enforces the time limit.
    """
    if files is None:
        _check_whole(recorded)
    replayer, budget = Replayer(recorded, with_files=files is not None), Budget(recorded.limits)
    watched: AbstractContextManager[None] = (
        nullcontext() if watchdog is None else watchdog.watch(budget)
    )
    with ExitStack() as stack:
        if files is None:
            files = _no_files(stack)
        scope = JobScope(
            job=recorded.id,
            tenant=TENANT,
            files=files,
            model=None,
            events=_NoWatchers(),
            budget=budget,
        )
        stack.enter_context(watched)
        envelope = run_job(guest, scope, io_schemas, dump_json(recorded.input), replayer)
    if replayer.divergence is None and not replayer.over:
        replayer.compare_end(envelope)
    end = End.JOURNAL_OVER if replayer.over else End.SAME
    if replayer.divergence is not None:
        end = End.DIVERGED
    return Replay(tuple(replayer.steps), end, replayer.divergence)


def is_whole(recorded: RecordedJob) -> bool:
    """Whether the journal has every answer that files gave, so that they are not needed."""
    return _first_digest(recorded) is None


def _first_digest(recorded: RecordedJob) -> JournalEntry | None:
    digests = (entry for entry in recorded.entries() if entry.event is None)
    return next((entry for entry in digests if entry.command in FILE_COMMANDS), None)


def _check_whole(recorded: RecordedJob) -> None:
    entry = _first_digest(recorded)
    if entry is not None:
        raise OperatorError(
            f"the job {recorded.id} was not recorded in full: of the answer to step {entry.step}, "
            f"`{entry.command}`, there is only the digest. Replay it with its spec and files, or "
            "record the next job with `record: full`"
        )


def _no_files(stack: ExitStack) -> HandleTable:
    grants = Grants.resolve(Path.cwd(), ())
    stack.callback(grants.close)
    return HandleTable(grants, handles_max=1, window_bytes_max=1)
