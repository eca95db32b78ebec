"""What is read of one job, by the store that is open and by whoever looks into its file from outside."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.jobs.job import Job
from cuttlebone.jobs.journal import JournalEntry
from cuttlebone.jobs.recorded import RecordedJob, recorded_job
from cuttlebone.jobs.store_sqlite.rows import entry_of, job_of
from cuttlebone.jobs.store_sqlite.schema import connect
from cuttlebone.text import printable

FILE_NAME: Final = "jobs.sqlite"
"""The database in a state folder."""


def job_in(connection: sqlite3.Connection, job_id: str) -> Job | None:
    """The job as it stands."""
    row = connection.execute("select * from jobs where id = ?", (job_id,)).fetchone()
    return None if row is None else job_of(row)


def journal_in(connection: sqlite3.Connection, job_id: str) -> list[JournalEntry]:
    """All entries of a journal, in order."""
    rows = connection.execute(
        "select * from journal where job = (select number from jobs where id = ?) order by step",
        (job_id,),
    )
    return [entry_of(row) for row in rows]


def recorded_in(folder: Path, job_id: str) -> RecordedJob:
    """Read a recorded job out of a state folder, whether or not a host uses it; raise OperatorError."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise OperatorError(f"there is no {path}; give the state folder of a host")
    try:
        with closing(connect(path, read_only=True)) as connection:
            # One transaction, so that job and journal are of the same moment.
            connection.execute("begin")
            job = job_in(connection, job_id)
            entries = journal_in(connection, job_id)
    except sqlite3.Error as error:
        raise OperatorError(f"the job store {path} cannot be read: {error}") from None
    if job is None:
        raise OperatorError(f"there is no job {printable(job_id)!r} in {path}, or it was forgotten")
    return recorded_job(job, entries)
