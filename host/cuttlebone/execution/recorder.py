"""Writes the journal of a running job, and tells a guest again what an earlier attempt was told."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cuttlebone.commands.infer_many import Parts
from cuttlebone.errors import JobError
from cuttlebone.job.journal import ASKING_THE_MODEL, JournalEntry, JournalPart, digest
from cuttlebone.job_options import Recording
from cuttlebone_abi import (
    Answered,
    ErrorCode,
    Finish,
    InferDone,
    InferResult,
    decode_event,
    dump_json,
    load_json,
)

JOURNAL_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """A command that was carried out, and the event that answers it, as the bytes that they are."""

    step: int
    command: str
    """Its `cmd`."""
    reply: bytes
    event: bytes
    pieces: tuple[str, ...] = ()
    """What `cf_on_token` was given meanwhile."""
    tokens_in: int = 0
    tokens_out: int = 0


class StepJournal(Protocol):
    """What the step loop asks at each step. A recorder answers it, or a replay."""

    def recall(self, step: int, command: Answered, reply: bytes) -> JournalEntry | None:
        """Return what this step was told before, if it need not be carried out again.

        Raises JobError if the job cannot go on from here.
        """

    def listened(self, entry: JournalEntry, verdicts: Sequence[bool]) -> None:
        """Compare what the guest says to the pieces of a recalled generation: whether to stop.

        Raises JobError if that is something else than before.
        """

    def parts(self, step: int, reply: bytes) -> Parts:
        """Where the generations of an `infer_many` that is carried out are kept one by one."""

    def keep(self, done: CarriedOut) -> None:
        """Keep the answer to a step, before the guest sees it; compare it if it was kept before.

        Raises JobError if it is another one than before.
        """


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of one step: those of earlier attempts, and what makes another one durable."""

    step: int
    command_sha256: str
    recalled: Mapping[int, InferResult]
    record: Callable[[JournalPart], None]

    def keep(self, number: int, result: InferResult) -> None:
        """Make what a generation came to durable."""
        part = JournalPart(
            self.step,
            number,
            self.command_sha256,
            dump_json(result),
        )
        self.record(part)


class Recorder:
    """Owner: the job thread. Steps are asked for in order, each once: `recall`, then `keep`.

    Invariants: a generation whose entry or part is kept is never paid again, whatever happens to the host;
    the journal has every step that was answered, without a gap.
    """

    def __init__(
        self,
        entries: Sequence[JournalEntry],
        keep: Callable[[JournalEntry], None],
        *,
        parts: Sequence[JournalPart] = (),
        keep_part: Callable[[JournalPart], None] = lambda _part: None,
        recording: Recording = Recording.DIGESTS,
        bytes_max: int = JOURNAL_BYTES_MAX,
    ) -> None:
        """`entries` and `parts` are those of earlier attempts; `keep` and `keep_part` make one durable.

        `bytes_max` bounds what is kept whole in all attempts together. Generations are kept even
        beyond it, as their size is bounded by the job's tokens.
        """
        self._entries = {entry.step: entry for entry in entries}
        self._keep = keep
        self._parts: dict[int, list[JournalPart]] = defaultdict(list)
        for part in parts:
            self._parts[part.step].append(part)
        self._keep_part = keep_part
        self._full = recording is Recording.FULL
        self._bytes_left = bytes_max - sum(
            len(entry.event or b"") + len(entry.reply or b"") for entry in entries
        )

    def recall(self, step: int, command: Answered, reply: bytes) -> JournalEntry | None:
        """Find a generation of an earlier attempt; raise JobError `input_changed` for another command."""
        entry = self._entries.get(step)
        before = entry or next(iter(self._parts[step]), None)
        if before is None:
            return None
        if before.command_sha256 != digest(reply):
            said = "infer_many" if entry is None else entry.command
            raise JobError(
                ErrorCode.INPUT_CHANGED,
                f"step {step}: before the host was restarted the block said `{said}`, and "
                f"now it says another `{command.cmd}`: was the block or its spec changed?",
            )
        return entry if entry and entry.dear and entry.event is not None else None

    def listened(self, entry: JournalEntry, verdicts: Sequence[bool]) -> None:
        """Raise JobError `input_changed` if the guest stops elsewhere than before."""
        if stopped_as_before(entry, verdicts):
            return
        raise JobError(
            ErrorCode.INPUT_CHANGED,
            f"step {entry.step}: the block stops the generation elsewhere than before the host was "
            "restarted: was the block or its spec changed?",
        )

    def parts(self, step: int, reply: bytes) -> Parts:
        """Find the generations of an earlier attempt at the `infer_many` of this step."""
        recalled = {
            part.number: InferResult.model_validate(load_json(part.result))
            for part in self._parts[step]
        }
        return StepParts(step, digest(reply), recalled, self._keep_part)

    def keep(self, done: CarriedOut) -> None:
        """Keep the answer to a step; raise JobError `input_changed` if the world now answers otherwise."""
        before = self._entries.get(done.step)
        if before is not None:
            if before.event_sha256 != digest(done.event):
                raise JobError(
                    ErrorCode.INPUT_CHANGED,
                    f"step {done.step}: `{done.command}` has another answer than before the host was "
                    "restarted: a file changed meanwhile; submit the job again",
                )
            return
        whole = self._full and len(done.reply) + len(done.event) <= self._bytes_left
        entry = JournalEntry(
            step=done.step,
            command=done.command,
            command_sha256=digest(done.reply),
            event_sha256=digest(done.event),
            event=done.event if whole or done.command in ASKING_THE_MODEL else None,
            reply=done.reply if whole else None,
            pieces=done.pieces,
            tokens_in=done.tokens_in,
            tokens_out=done.tokens_out,
        )
        self._bytes_left -= len(entry.event or b"") + len(entry.reply or b"")
        self._keep(entry)


def stopped_as_before(entry: JournalEntry, verdicts: Sequence[bool]) -> bool:
    """Whether verdicts on the pieces of a generation are those that it was recorded with.

    A guest that said stop was given nothing more, so it can have said so of the last piece only;
    and there it does not matter if the generation had come to its end anyway.
    """
    if not verdicts or entry.event is None:
        return True
    event = decode_event(entry.event)
    by_guest = isinstance(event, InferDone) and event.finish is Finish.GUEST
    return not any(verdicts[:-1]) and (verdicts[-1] or not by_guest)


def unrecorded() -> Recorder:
    """A recorder that knows nothing and keeps nothing."""
    return Recorder((), lambda _entry: None)
