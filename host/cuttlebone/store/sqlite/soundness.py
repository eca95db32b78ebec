"""Looks whether the files of a database hold all that they should, before anything is opened for work."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.mark import Durable, durable_in, mark_path, read_mark
from cuttlebone.store.sqlite.migrations import SCHEMA_VERSION
from cuttlebone.text import printable

_FAULTS_TOLD: Final = 3
_TABLES: Final = frozenset({"meta", "jobs", "job_events", "job_counts"})
"""Those of every version."""
_REAL_COUNTS: Final = """
select job_counts.status, job_counts.jobs, coalesce(found.jobs, 0) from job_counts
left join (select status, count(*) as jobs from jobs group by status) as found
on found.status = job_counts.status
"""

_log = structlog.get_logger(__name__)


def check_files(path: Path) -> None:
    """Compare a database with its log of changes and its mark; change nothing.

    Also while a host uses it. Raises OperatorError that says what is wrong and what to do.
    """
    try:
        # Before the database: what was durable then is there still.
        mark = read_mark(path)
        if not _begun(path, mark):
            return
        with closing(connect(path, read_only=not _unfinished(path))) as connection:
            connection.execute("begin")
            _check_version(connection, path)
            _check_structure(connection)
            found = None
            if _has_tables(connection):
                _check_counts(connection)
                found = durable_in(connection)
            _compare(found, mark, path)
    except (sqlite3.DatabaseError, OSError) as error:
        raise unusable(path, printable(str(error))) from None


def unusable(path: Path, why: str) -> OperatorError:
    """The refusal of a database, with the ways out."""
    return OperatorError(
        f"the job store {path} cannot be used: {why}; nothing was changed. "
        f"`cuttlebone salvage {path.parent} --into FOLDER` keeps what can be read of it; or restore "
        f"a backup in an empty folder; or move it away, with all whose names begin with {path.name}, "
        "to start with an empty store"
    )


def _begun(path: Path, mark: Durable | None) -> bool:
    """Whether there is a database; raise OperatorError if there was one."""
    size = _size(path)
    if size:
        return True
    state = "is empty" if size == 0 else "is gone"
    if mark is not None and mark.commits:
        raise unusable(path, f"{path.name} {state}, but held {_jobs(mark.jobs)}")
    if _size(_beside(path, "-wal")):
        raise unusable(path, f"{path.name} {state}, but its log of changes is there")
    return False


def _unfinished(path: Path) -> bool:
    """Whether the making of the file was cut short: SQLite has to undo that first."""
    return _beside(path, "-journal").exists()


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise OperatorError(
            f"the job store {path} has schema version {version}, but this host knows versions up "
            f"to {SCHEMA_VERSION}; run the newer host that wrote it"
        )


def _check_structure(connection: sqlite3.Connection) -> None:
    faults = [str(row[0]) for row in connection.execute(f"pragma quick_check({_FAULTS_TOLD})")]
    if faults != ["ok"]:
        raise sqlite3.DatabaseError(f"it is damaged: {'; '.join(faults)}")


def _has_tables(connection: sqlite3.Connection) -> bool:
    """False of a file whose making was cut short; raises sqlite3.DatabaseError if they are another's."""
    tables = {row[0] for row in connection.execute("select name from sqlite_schema")}
    if tables and not tables >= _TABLES:
        raise sqlite3.DatabaseError("it is a database, but none that a host wrote")
    return bool(tables)


def _check_counts(connection: sqlite3.Connection) -> None:
    """A database and a log that do not belong together may well have a structure that holds."""
    for status, counted, found in connection.execute(_REAL_COUNTS):
        if counted != found:
            raise sqlite3.DatabaseError(
                f"it is damaged: {counted} jobs were {status}, and {found} are there"
            )


def _compare(found: Durable | None, mark: Durable | None, path: Path) -> None:
    if mark is None:
        if found is not None and found.commits:
            _log.info(
                "nothing says how much the job store should hold: from now on that is noted",
                file=str(mark_path(path)),
            )
        return
    if found is None or found.store != mark.store:
        raise unusable(
            path,
            f"{path.name} or its log of changes is another one than {mark_path(path).name} was "
            f"written for, which held {_jobs(mark.jobs)} (if that is meant, move "
            f"{mark_path(path).name} away)",
        )
    if found.commits < mark.commits:
        raise unusable(
            path,
            f"its last {mark.commits - found.commits} changes are gone: it held {_jobs(mark.jobs)}, "
            f"and {found.jobs} can be read; {_beside(path, '-wal').name} is missing, cut or damaged, "
            "or an older copy was put in place of the file",
        )


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
