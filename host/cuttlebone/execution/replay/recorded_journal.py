"""The journal of a recorded job: answers the step loop from it, and keeps the first difference."""

from collections.abc import Sequence
from typing import Final, NoReturn

from cuttlebone.commands.infer_many import Parts
from cuttlebone.errors import JobError
from cuttlebone.execution.recorder import CarriedOut, stopped_as_before, unrecorded
from cuttlebone.execution.replay.divergence import (
    AnswerSource,
    DivergedPart,
    Divergence,
    ReplayedStep,
)
from cuttlebone.job.journal import ASKING_THE_MODEL, JournalEntry, digest
from cuttlebone.job.recorded_job import RecordedJob
from cuttlebone_abi import (
    Answered,
    Completed,
    Envelope,
    ErrorCode,
    Failed,
    Infer,
    InferMany,
    dump_json,
)

_FROM_OUTSIDE: Final = frozenset(
    {
        ErrorCode.CANCELLED,
        ErrorCode.TIMEOUT,
        ErrorCode.INTERNAL,
        ErrorCode.INPUT_CHANGED,
        ErrorCode.MODEL_LOAD_FAILED,
        ErrorCode.INFER_FAILED,
    }
)
"""What ended a job without its block having had a part in it."""
FILE_COMMANDS: Final = frozenset({"open", "slice", "slice_bytes", "list", "close"})
"""What only files can answer."""


class _Diverged(JobError):
    """Ends the replay; what is different is told elsewhere."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INTERNAL, "the replay diverged")


class _Over(JobError):
    """Ends the replay at the end of the journal."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INTERNAL, "the journal is over")


class RecordedJournal:
    """A `StepJournal` that asks no model and keeps nothing. Owner: the thread of the replay.

    Invariant: `divergence` is the first difference, and nothing is asked after it.
    """

    def __init__(self, recorded: RecordedJob, *, with_files: bool) -> None:
        self._entries = {entry.step: entry for entry in recorded.entries()}
        self._envelope = recorded.envelope
        self._with_files = with_files
        self.steps: list[ReplayedStep] = []
        self.divergence: Divergence | None = None
        self.over = False

    @property
    def next_step(self) -> int:
        """The step after the last one that was answered."""
        return len(self.steps) + 1

    def recall(self, step: int, command: Answered, reply: bytes) -> JournalEntry | None:
        """Compare a command; return its entry unless it is to be carried out again."""
        entry = self._entries.get(step)
        if entry is None:
            if command.cmd in ASKING_THE_MODEL or (
                command.cmd in FILE_COMMANDS and not self._with_files
            ):
                self._beyond(step, reply, answered=False)
            return None
        if entry.command_sha256 != digest(reply):
            self._diverge(step, DivergedPart.COMMAND, _said(entry), reply.decode())
        # A whole entry answers everything but what the files would: these are read if they are there.
        again = command.cmd in FILE_COMMANDS and self._with_files
        if again or entry.event is None:
            return None
        self._went(step, reply, AnswerSource.JOURNAL)
        if not isinstance(command, Infer | InferMany):  # the verdicts on those are still to come
            self._end_with_journal()
        return entry

    def listened(self, entry: JournalEntry, verdicts: Sequence[bool]) -> None:
        """Compare the verdicts on the pieces of a generation."""
        if stopped_as_before(entry, verdicts):
            self._end_with_journal()
            return
        stop = verdicts.index(True) + 1 if True in verdicts else None
        pieces = len(entry.pieces)
        self.steps.pop()
        self._diverge(
            entry.step,
            DivergedPart.VERDICT,
            f"stop after piece {pieces}" if stop is None else f"go on, {pieces} pieces",
            f"go on, {pieces} pieces" if stop is None else f"stop after piece {stop}",
        )

    def parts(self, step: int, reply: bytes) -> Parts:
        """None: a recorded job has whole steps only."""
        return unrecorded().parts(step, reply)

    def keep(self, done: CarriedOut) -> None:
        """Compare the answer to a command that was carried out again."""
        entry = self._entries.get(done.step)
        if entry is None:
            self._beyond(done.step, done.reply, answered=True)
        if entry.event_sha256 != digest(done.event):
            self._diverge(done.step, DivergedPart.EVENT, _told(entry), done.event.decode())
        self._went(done.step, done.reply, AnswerSource.AGAIN)
        self._end_with_journal()

    def compare_end(self, envelope: Envelope) -> None:
        """Compare how the block ended."""
        step, recorded = self.next_step, self._envelope
        entry = self._entries.get(step)
        if entry is not None:
            self._note(step, DivergedPart.END, _said(entry), _ending(envelope))
        elif recorded is None or not _by_block(recorded):
            self.over = True
        elif _ending(recorded) != _ending(envelope):
            self._note(step, DivergedPart.END, _ending(recorded), _ending(envelope))

    def _beyond(self, step: int, reply: bytes, *, answered: bool) -> NoReturn:
        """The block goes on where the journal ends: as recorded only if the job was ended there.

        A command that is not `answered` here may be the one that ended a failed job.
        """
        recorded = self._envelope
        if self._open_end or (isinstance(recorded, Failed) and not answered):
            self.over = True
            raise _Over
        self._diverge(
            step, DivergedPart.END, "" if recorded is None else _ending(recorded), reply.decode()
        )

    @property
    def nothing_left(self) -> bool:
        """Whether all that was recorded has gone, and what came then was not the block's doing.

        A block that goes on from here may do so for ever, and nothing can be compared to it.
        """
        return self.next_step > len(self._entries) and self._open_end

    @property
    def _open_end(self) -> bool:
        return self._envelope is None or not _by_block(self._envelope)

    def _end_with_journal(self) -> None:
        if self.nothing_left:
            self.over = True
            raise _Over

    def _went(self, step: int, reply: bytes, source: AnswerSource) -> None:
        self.steps.append(ReplayedStep(step, reply.decode(), source))

    def _diverge(self, step: int, part: DivergedPart, recorded: str, instead: str) -> NoReturn:
        self._note(step, part, recorded, instead)
        raise _Diverged

    def _note(self, step: int, part: DivergedPart, recorded: str, instead: str) -> None:
        self.divergence = Divergence(step, part, recorded, instead)


def _said(entry: JournalEntry) -> str:
    if entry.reply is not None:
        return entry.reply.decode()
    return f"`{entry.command}`, kept as its digest sha256:{entry.command_sha256}"


def _told(entry: JournalEntry) -> str:
    if entry.event is not None:
        return entry.event.decode()
    return f"kept as its digest sha256:{entry.event_sha256}"


def _by_block(envelope: Envelope) -> bool:
    match envelope:
        case Completed():
            return True
        case Failed(error=error):
            return error.code not in _FROM_OUTSIDE
        case _:
            return False


def _ending(envelope: Envelope) -> str:
    """What a block decides of an envelope, and not what the run cost."""
    return dump_json(envelope.model_dump(mode="json", exclude={"usage"})).decode()
