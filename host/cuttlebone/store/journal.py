"""What keeps the journals of jobs: what their guests were told, step by step."""

from collections.abc import Sequence
from typing import Final, Protocol

from cuttlebone.job.job import Fence, JobKey
from cuttlebone.job.journal import JournalEntry, JournalPart

JOURNAL_BYTES_READ_MAX: Final = 1 << 20
"""What one read of a journal returns: a reader holds no more of it at a time."""


class JournalStore(Protocol):
    """Keeps a journal for each job. Any thread may call it; an attempt that is over records nothing."""

    def record(self, fence: Fence, entry: JournalEntry) -> None:
        """Keep one entry of the journal of a running attempt.

        A generation is durable when this returns; any other entry is so soon after, and before
        whatever is recorded or finished later: it can be had again. The parts of the step go.
        """

    def record_part(self, fence: Fence, part: JournalPart) -> None:
        """Keep one generation of an `infer_many` of a running attempt; it is durable when this returns.

        It is there until the whole entry is, or until the job is final.
        """

    def journal(self, key: JobKey) -> Sequence[JournalEntry]:
        """All entries, in order."""

    def read(self, key: JobKey, *, after: int) -> Sequence[JournalEntry]:
        """The entries with steps above `after`, in order, none only if there are none.

        They have about JOURNAL_BYTES_READ_MAX bytes at most, but for the last one.
        """

    def last_step(self, key: JobKey) -> int:
        """The step of the last entry; 0 where there is none."""

    def parts(self, key: JobKey) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""
