"""Makes a new database of what can be read of a damaged one, which is left as it is."""

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.mark import Durable, read_mark
from cuttlebone.store.sqlite.mended_copy import mended_copy
from cuttlebone.store.sqlite.rows import entry_of, event_of, job_of, part_of
from cuttlebone.store.sqlite.scanning import Table, names_in_index, read_rows
from cuttlebone.store.sqlite.schema import open_database

_JOBS: Final = Table("jobs", "number", numbered=True)
_EVENTS: Final = Table("job_events", "row", numbered=True)
# What a job can do without: it goes on from its beginning, or nobody is told of its end.
_BELONGINGS: Final = (
    Table("spec_versions", "sha256"),
    Table("spec_documents", "sha256"),
    Table("journal", "job, step"),
    Table("journal_parts", "job, step, number"),
    Table("idempotency", "tenant, key"),
    Table("outbox", "number", numbered=True),
    Table("outbox_attempts", "delivery, number"),
)
_COPY: Final = (
    """insert or ignore into main.spec_versions (sha256)
    select spec_sha256 from temp.jobs where number = ? and spec_sha256 is not null""",
    "insert into main.jobs select * from temp.jobs where number = ?",
    "insert into main.job_events select * from temp.job_events where job = ?",
    "insert into main.journal select * from temp.journal where job = ?",
    "insert into main.journal_parts select * from temp.journal_parts where job = ?",
    "insert into main.idempotency select * from temp.idempotency where job = ?",
    "insert into main.outbox select * from temp.outbox where job = ?",
    """insert into main.outbox_attempts select * from temp.outbox_attempts
    where delivery in (select number from main.outbox where job = ?)""",
)
_COPY_DOCUMENTS: Final = """
insert into main.spec_documents select * from temp.spec_documents
where sha256 in (select sha256 from main.spec_versions)
"""
_COPY_GAPS: Final = """
insert or ignore into main.job_events select * from temp.job_events where job is null
"""


@dataclass(frozen=True, slots=True)
class GoneJob:
    """A job that is known of, and cannot be read whole."""

    tenant: str
    """Empty, as is the id, where not even that can be read."""
    id: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What became of a database."""

    kept: int
    """Jobs that the new one has, each whole."""
    gone: tuple[GoneJob, ...]
    unnamed: int
    """Jobs that were there by what the mark says, and of which nothing is known."""
    changes_gone: int
    """Commits that were durable and are not there: what they changed is as it was before."""
    incomplete: tuple[str, ...]
    """Tables beside those of jobs and their events of which something is gone; `meta` counts changes."""
    frames_damaged: int
    """In the log of changes; what these held is as it was before."""
    foreign_log: bool
    """Whether the log of changes was another database's, and so left aside."""

    @property
    def whole(self) -> bool:
        """Whether the new database is known to have all that the old one had."""
        return not (
            self.gone
            or self.unnamed
            or self.changes_gone
            or self.incomplete
            or self.frames_damaged
            or self.foreign_log
        )


def salvage_database(source: Path, target: Path) -> Salvaged:
    """Read what can be read of `source`, with what is beside it; write it to the new file `target`.

    Nobody may have either of them open. Raises OperatorError if there is nothing to be read.
    """
    mark = read_mark(source)
    open_database(target).close()
    try:
        with mended_copy(source, mark, template=target) as copy, closing(connect(target)) as new:
            new.execute("attach ? as old", (f"file:{copy.path}?mode=ro",))
            names = names_in_index(new)
            read_rows(new, _JOBS)
            read_rows(new, _EVENTS)
            incomplete = [one.name for one in _BELONGINGS if not read_rows(new, one)]
            kept, gone = _copy_jobs(new, names)
    except sqlite3.DatabaseError as error:
        target.unlink()
        held = "" if mark is None else f", which held {mark.jobs} jobs"
        raise OperatorError(f"nothing can be read of {source}{held}: {error}") from None
    known = mark or Durable("", 0, 0)
    found = copy.durable or known
    if copy.durable is None:
        incomplete.append("meta")
    return Salvaged(
        kept,
        tuple(gone),
        unnamed=max(0, known.jobs - kept - len(gone)),
        changes_gone=max(0, known.commits - found.commits),
        incomplete=tuple(incomplete),
        frames_damaged=copy.frames_damaged,
        foreign_log=copy.foreign_log,
    )


def _copy_jobs(
    connection: sqlite3.Connection, names: Mapping[int, tuple[str, str]]
) -> tuple[int, list[GoneJob]]:
    connection.execute("create index temp.job_events_job on job_events (job)")
    rows = connection.execute(
        "select number from temp.jobs union select job from temp.job_events where job is not null"
    )
    kept, gone = 0, []
    for number in sorted({row[0] for row in rows} | names.keys()):
        connection.execute("begin")
        try:
            _copy_job(connection, number)
        except (sqlite3.DatabaseError, ValueError, zlib.error) as error:
            connection.execute("rollback")
            gone.append(GoneJob(*names.get(number, ("", "")), number, str(error)))
        else:
            connection.execute("commit")
            kept += 1
    connection.execute(_COPY_DOCUMENTS)
    connection.execute(_COPY_GAPS)
    return kept, gone


def _copy_job(connection: sqlite3.Connection, number: int) -> None:
    """Copy a job with all that belongs to it.

    Raises sqlite3.DatabaseError, ValueError or zlib.error if it is not whole.
    """
    row = connection.execute("select * from temp.jobs where number = ?", (number,)).fetchone()
    if row is None:
        raise ValueError("where it is kept cannot be read")
    job_of(row)
    for statement in _COPY:
        connection.execute(statement, (number,))
    _check_belongings(connection, number, row["events"])


def _check_belongings(connection: sqlite3.Connection, number: int, events: int) -> None:
    """Read what was copied of a job: a log of events without a gap, and journals that are some."""
    rows = connection.execute(
        "select * from main.job_events where job = ? order by number", (number,)
    )
    told = [event_of(row).number for row in rows]
    if told != list(range(1, events + 1)):
        raise ValueError(f"{events} events happened to it, and {len(told)} of them can be read")
    for row in connection.execute("select * from main.journal where job = ?", (number,)):
        entry_of(row)
    for row in connection.execute("select * from main.journal_parts where job = ?", (number,)):
        part_of(row)
