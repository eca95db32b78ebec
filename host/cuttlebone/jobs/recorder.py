"""Writes the journal of a running job, and tells a guest again what an earlier attempt was told."""

from collections.abc import Callable, Sequence
from typing import Final

from cuttlebone.errors import JobError
from cuttlebone.jobs.journal import JournalEntry, Recording, digest
from cuttlebone_abi import Answered, Close, Emit, ErrorCode, Infer

JOURNAL_BYTES_MAX: Final = 64 << 20
"""Whole events of one job; what comes after them is kept as digests."""


class Recorder:
    """Owner: the job thread. Steps are asked for in order, each once: `recall`, then `keep`.

    Invariant: a generation whose entry is kept is never paid again, whatever happens to the host.
    """

    def __init__(
        self,
        entries: Sequence[JournalEntry],
        keep: Callable[[JournalEntry], None],
        *,
        recording: Recording = Recording.DIGESTS,
        bytes_max: int = JOURNAL_BYTES_MAX,
    ) -> None:
        """`entries` are those of earlier attempts; `keep` makes one durable."""
        self._entries = {entry.step: entry for entry in entries}
        self._keep = keep
        self._full = recording is Recording.FULL
        self._bytes_left = bytes_max

    def recall(self, step: int, command: Answered, reply: bytes) -> JournalEntry | None:
        """Find what this step was told before, if it need not be carried out again.

        Raises JobError `input_changed` where the guest asks for something else than before.
        """
        entry = self._entries.get(step)
        if entry is None:
            return None
        if entry.command_sha256 != digest(reply):
            raise JobError(
                ErrorCode.INPUT_CHANGED,
                f"step {step}: before the host was restarted the block said `{entry.command}`, and "
                f"now it says another `{command.cmd}`: was the block or its spec changed?",
            )
        return entry if isinstance(command, Infer) and entry.event is not None else None

    def keep(
        self,
        step: int,
        command: Answered,
        reply: bytes,
        event: bytes,
        *,
        pieces: Sequence[str] = (),
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        """Keep the answer to a step, before the guest sees it; compare it if it was kept before.

        Raises JobError `input_changed` where the world answers otherwise than before.
        """
        before = self._entries.get(step)
        if before is not None:
            if before.event_sha256 != digest(event):
                raise JobError(
                    ErrorCode.INPUT_CHANGED,
                    f"step {step}: `{command.cmd}` has another answer than before the host was "
                    "restarted: a file changed meanwhile; submit the job again",
                )
            return
        if isinstance(command, Emit | Close) and not self._full:
            return  # nothing but the guest decides what these are told
        whole = isinstance(command, Infer) or (self._full and len(event) <= self._bytes_left)
        if whole:
            self._bytes_left -= len(event)
        self._keep(
            JournalEntry(
                step=step,
                command=command.cmd,
                command_sha256=digest(reply),
                event_sha256=digest(event),
                event=event if whole else None,
                pieces=tuple(pieces),
                tokens_in=tokens[0],
                tokens_out=tokens[1],
            )
        )


def unrecorded() -> Recorder:
    """A recorder that knows nothing and keeps nothing."""
    return Recorder((), lambda _entry: None)
