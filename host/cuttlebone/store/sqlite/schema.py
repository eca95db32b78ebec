"""The tables of the durable job store, their versions, and how a connection to them is opened."""

import sqlite3
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError

BUSY_TIMEOUT_S: Final = 10.0
_TRUNCATE_WAIT_MS: Final = 100
"""The writer has to wait for as long."""

_VERSION_1: Final = """
create table meta (
    key text primary key,
    value any not null
) strict, without rowid;

-- `number` orders jobs by acceptance. Times are microseconds since 1970, in UTC.
-- `rank` orders the queue: the moment of acceptance, moved ahead by the priority.
create table jobs (
    number integer primary key,
    id text not null unique,
    tenant text not null,
    spec text not null,
    request_sha256 text not null,
    input blob not null,
    limits blob not null,
    labels blob not null,
    priority text not null,
    rank integer not null,
    status text not null
        check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
    attempt integer not null default 0,
    crashes integer not null default 0,
    created_us integer not null,
    expires_us integer,
    ttl_s integer,
    started_us integer,
    finished_us integer,
    cancel_requested integer not null default 0,
    events integer not null default 0,
    recording text not null,
    callback_url text,
    progress blob,
    envelope blob,
    accounting blob,
    check ((status in ('completed', 'failed', 'cancelled')) = (envelope is not null)),
    check ((finished_us is null) = (envelope is null)),
    check (status != 'running' or started_us is not null)
) strict;
create index jobs_queue on jobs (rank, number) where status = 'queued';
create index jobs_running on jobs (number) where status = 'running';
create index jobs_finished on jobs (finished_us) where finished_us is not null;
create index jobs_expiring on jobs (expires_us) where status = 'queued' and expires_us is not null;

-- How many jobs are in each status, kept by triggers: counting 100 000 rows for each submission
-- would cost more than the submission.
create table job_counts (
    status text primary key,
    jobs integer not null
) strict, without rowid;
insert into job_counts values
    ('queued', 0), ('running', 0), ('completed', 0), ('failed', 0), ('cancelled', 0);
create trigger jobs_inserted after insert on jobs begin
    update job_counts set jobs = jobs + 1 where status = new.status;
end;
create trigger jobs_moved after update of status on jobs begin
    update job_counts set jobs = jobs - 1 where status = old.status;
    update job_counts set jobs = jobs + 1 where status = new.status;
end;
create trigger jobs_deleted after delete on jobs begin
    update job_counts set jobs = jobs - 1 where status = old.status;
end;

create table job_events (
    job integer not null references jobs (number) on delete cascade,
    number integer not null,
    kind text not null,
    at_us integer not null,
    data blob not null,
    primary key (job, number)
) strict, without rowid;

-- `event` and `reply` are compressed.
create table journal (
    job integer not null references jobs (number) on delete cascade,
    step integer not null,
    command text not null,
    command_sha256 text not null,
    event_sha256 text not null,
    event blob,
    reply blob,
    pieces blob not null,
    tokens_in integer not null,
    tokens_out integer not null,
    primary key (job, step)
) strict, without rowid;

create table idempotency (
    tenant text not null,
    key text not null,
    job integer not null references jobs (number) on delete cascade,
    primary key (tenant, key)
) strict, without rowid;
create index idempotency_job on idempotency (job);

-- What is told to the `callback_url` of a job that has ended, and each attempt to tell it.
create table deliveries (
    job integer primary key references jobs (number) on delete cascade,
    id text not null unique,
    state text not null check (state in ('pending', 'delivered', 'abandoned')),
    created_us integer not null,
    next_us integer,
    check ((state = 'pending') = (next_us is not null))
) strict;
create index deliveries_due on deliveries (next_us) where state = 'pending';
create table delivery_attempts (
    job integer not null references deliveries (job) on delete cascade,
    number integer not null,
    at_us integer not null,
    status integer,
    reason text not null,
    took_ms integer not null,
    primary key (job, number)
) strict, without rowid;
"""

# A tenant with few jobs among many is listed, and its waiting jobs are counted, without a scan.
_VERSION_2: Final = """
create index jobs_tenant on jobs (tenant, number);
create index jobs_tenant_queue on jobs (tenant) where status = 'queued';
"""

# The generations of an `infer_many` that has not ended as a whole. `result` is compressed.
_VERSION_3: Final = """
create table journal_parts (
    job integer not null references jobs (number) on delete cascade,
    step integer not null,
    number integer not null,
    command_sha256 text not null,
    result blob not null,
    primary key (job, step, number)
) strict, without rowid;
"""

# What jobs were accepted for: each spec as it took effect, once, until the last job that names it
# is wiped. `jobs` counts those that do, so that to wipe one costs no look at the others.
_SPEC_VERSIONS: Final = """
create table spec_versions (
    sha256 text primary key,
    document blob not null,
    jobs integer not null default 0
) strict;
alter table jobs add column block_sha256 text;
alter table jobs add column spec_sha256 text;
create trigger jobs_naming_spec after insert on jobs when new.spec_sha256 is not null begin
    update spec_versions set jobs = jobs + 1 where sha256 = new.spec_sha256;
end;
create trigger jobs_leaving_spec after delete on jobs when old.spec_sha256 is not null begin
    update spec_versions set jobs = jobs - 1 where sha256 = old.spec_sha256;
    delete from spec_versions where sha256 = old.spec_sha256 and jobs = 0;
end;
"""
_VERSION_4: Final = _SPEC_VERSIONS

MIGRATIONS: Final = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)
"""Statement scripts; number n brings a file from version n to version n + 1."""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection for use by one thread at a time, in autocommit mode."""
    connection = sqlite3.connect(
        f"file:{path}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_S,
    )
    connection.row_factory = sqlite3.Row
    # Deleted inputs and envelopes are overwritten, not left in free pages.
    for pragma in ("foreign_keys = on", "trusted_schema = off", "secure_delete = on"):
        connection.execute(f"pragma {pragma}")
    return connection


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file for writing, making or migrating it; raise OperatorError that says what to do."""
    try:
        connection = connect(path)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        _check(connection, path)
        _migrate(connection, path)
    except sqlite3.DatabaseError as error:
        raise OperatorError(
            f"the job store {path} cannot be used: {error}; nothing was changed. Move the file "
            "(and its -wal and -shm) away to start with an empty store, or put a backup in its place"
        ) from None
    return connection


def truncate_log(path: Path) -> None:
    """Bring the log of changes into the file and empty it, unless somebody reads it just now.

    What was wiped from the file is still in the log until then.
    """
    connection = connect(path)
    try:
        connection.execute(f"pragma busy_timeout = {_TRUNCATE_WAIT_MS}")
        connection.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.OperationalError:
        return  # a full disk, or too much going on: the next time will do
    finally:
        connection.close()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    faults = [row[0] for row in connection.execute("pragma quick_check(3)")]
    if faults != ["ok"]:
        raise sqlite3.DatabaseError(f"{path.name} is damaged: {'; '.join(map(str, faults))}")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > len(MIGRATIONS):
        raise OperatorError(
            f"the job store {path} has schema version {version}, but this host knows versions up "
            f"to {len(MIGRATIONS)}; run the newer host that wrote it"
        )
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(
            f"begin immediate; {script}; pragma user_version = {number}; commit;"
        )
