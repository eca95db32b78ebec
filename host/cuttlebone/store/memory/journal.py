"""The journals of the stores in memory."""

from collections.abc import Sequence

from cuttlebone.job.job import Fence, JobKey
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.store.journal import JOURNAL_BYTES_READ_MAX
from cuttlebone.store.memory.state import MemoryState


class MemoryJournal:
    """Reads and adds to the journals in the state. See `JournalStore`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def record(self, fence: Fence, entry: JournalEntry) -> None:
        """Keep one entry of the journal of a running attempt."""
        with self._state.lock:
            kept = self._state.runs(fence)
            if kept is None:
                return
            kept.journal.append(entry)
            if entry.dear:
                kept.parts = [part for part in kept.parts if part.step != entry.step]

    def record_part(self, fence: Fence, part: JournalPart) -> None:
        """Keep one generation of an `infer_many` of a running attempt."""
        with self._state.lock:
            kept = self._state.runs(fence)
            if kept is not None:
                kept.parts.append(part)

    def journal(self, key: JobKey) -> Sequence[JournalEntry]:
        """All entries, in order."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            return () if kept is None else tuple(kept.journal)

    def read(self, key: JobKey, *, after: int) -> Sequence[JournalEntry]:
        """The entries with steps above `after`, in order, a bounded part of them."""
        page: list[JournalEntry] = []
        size = 0
        for entry in self.journal(key):
            if entry.step > after and size < JOURNAL_BYTES_READ_MAX:
                page.append(entry)
                size += entry.size_bytes()
        return page

    def last_step(self, key: JobKey) -> int:
        """The step of the last entry; 0 where there is none."""
        entries = self.journal(key)
        return entries[-1].step if entries else 0

    def parts(self, key: JobKey) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""
        with self._state.lock:
            kept = self._state.kept.get(key)
            parts = () if kept is None else tuple(kept.parts)
        return tuple(sorted(parts, key=lambda part: (part.step, part.number)))
