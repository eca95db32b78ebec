"""Drives a block through the journal of a recorded job, without a model, and says where it diverges.

The step loop is that of a real job. Only the answers differ: generations come from the journal, and
so does everything else if the files are left aside.
"""

from contextlib import closing, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import JobScope
from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.divergence import Divergence, ReplayedStep
from cuttlebone.execution.replay.recorded_journal import FILE_COMMANDS, RecordedJournal
from cuttlebone.execution.runner import run_job
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.files import Grants
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
    block_sha256: str
    """Of the block that was driven."""
    recorded_block_sha256: str | None
    """Of the block that the job ran; None where a host did not note it."""

    @property
    def of_another_block(self) -> bool:
        """Whether the block is known not to be the one that the job ran: no fault, but worth knowing."""
        return self.recorded_block_sha256 not in {None, self.block_sha256}

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
    grants: Grants | None = None,
    *,
    block_sha256: str,
    watchdog: Watchdog | None = None,
) -> Replay:
    """Drive `guest`, a fresh one of that block, through what was recorded, and tell how far that went.

    With `grants` files are read again and compared; without, every answer is from the journal,
    and OperatorError is raised if it does not have them all. `watchdog` enforces the time limit.
    """
    if grants is None:
        _check_whole(recorded)
    journal = RecordedJournal(recorded, with_files=grants is not None)
    scope = JobScope(
        job=recorded.id,
        tenant=TENANT,
        grants=grants or Grants.resolve(Path.cwd(), ()),
        model=None,
        events=_NoWatchers(),
        budget=Budget(recorded.limits),
    )
    with closing(scope), watchdog.watch(scope.budget) if watchdog else nullcontext():
        _drive(guest, scope, io_schemas, recorded, journal)
    return Replay(
        tuple(journal.steps),
        _end(journal),
        journal.divergence,
        block_sha256=block_sha256,
        recorded_block_sha256=recorded.block_sha256,
    )


def _drive(
    guest: Guest,
    scope: JobScope,
    io_schemas: IoSchemas,
    recorded: RecordedJob,
    journal: RecordedJournal,
) -> None:
    if journal.nothing_left:
        journal.over = True  # the block did not come to its first command then, and may never
        return
    envelope = run_job(guest, scope, io_schemas, dump_json(recorded.input), journal)
    if journal.divergence is None and not journal.over:
        journal.compare_end(envelope)


def _end(journal: RecordedJournal) -> End:
    if journal.divergence is not None:
        return End.DIVERGED
    return End.JOURNAL_OVER if journal.over else End.SAME


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
