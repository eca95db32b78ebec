"""The journals in the durable store."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cuttlebone.job.job import Fence, JobKey
from cuttlebone.job.journal import GENERATING, JournalEntry, JournalPart
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.reading import (
    journal_in,
    journal_page_in,
    journal_parts_in,
    last_step_in,
)
from cuttlebone.store.sqlite.rows import entry_row, part_row
from cuttlebone.store.sqlite.writer import Transaction

_RUNS: Final = """
from jobs where tenant = :tenant and id = :id and attempt = :attempt and owner = :owner
and status = 'running'
"""
_RECORD: Final = f"""
insert into journal
(job, step, command, command_sha256, event_sha256, event, reply, pieces, tokens_in, tokens_out)
select number, :step, :command, :command_sha256, :event_sha256, :event, :reply, :pieces,
:tokens_in, :tokens_out {_RUNS}
"""
_RECORD_PART: Final = f"""
insert into journal_parts (job, step, number, command_sha256, result)
select number, :step, :number, :command_sha256, :result {_RUNS}
"""
_FORGET_PARTS: Final = """
delete from journal_parts
where job = (select number from jobs where tenant = :tenant and id = :id) and step = :step
"""


class SqliteJournal:
    """See `JournalStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, fence: Fence, entry: JournalEntry) -> None:
        """Keep one entry of the journal; one that is dear is durable when this returns."""
        # Compressed here, not in the thread that everybody waits for.
        row = {**entry_row(entry), **_fenced(fence)}

        def change(transaction: Transaction) -> None:
            _record(transaction, row)

        if entry.dear:
            self._database.insist(change)
        else:
            self._database.post(change)

    def record_part(self, fence: Fence, part: JournalPart) -> None:
        """Keep one generation of an `infer_many`; it is durable when this returns."""
        row = {**part_row(part), **_fenced(fence)}
        self._database.insist(
            lambda transaction: transaction.connection.execute(_RECORD_PART, row).rowcount
        )

    def journal(self, key: JobKey) -> Sequence[JournalEntry]:
        """All entries, in order."""
        with self._database.reader() as reader:
            return journal_in(reader, key)

    def read(self, key: JobKey, *, after: int) -> Sequence[JournalEntry]:
        """The entries with steps above `after`, in order, a bounded part of them."""
        with self._database.reader() as reader:
            return journal_page_in(reader, key, after=after)

    def last_step(self, key: JobKey) -> int:
        """The step of the last entry; 0 where there is none."""
        with self._database.reader() as reader:
            return last_step_in(reader, key)

    def parts(self, key: JobKey) -> Sequence[JournalPart]:
        """The parts of entries that are not there yet, by step and number."""
        with self._database.reader() as reader:
            return journal_parts_in(reader, key)


def _record(transaction: Transaction, row: Mapping[str, Any]) -> None:
    """Add a row to the journal of a running attempt, in place of its parts."""
    written = transaction.connection.execute(_RECORD, row)
    if written.rowcount and row["command"] in GENERATING:
        transaction.connection.execute(_FORGET_PARTS, row)


def _fenced(fence: Fence) -> dict[str, object]:
    return {**fence.key._asdict(), "attempt": fence.attempt, "owner": fence.owner}
