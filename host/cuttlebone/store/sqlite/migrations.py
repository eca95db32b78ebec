"""The versions of the durable store's tables, each as the script that makes it of the one before."""

from typing import Final

from cuttlebone.store.sqlite.version_4 import VERSION_4
from cuttlebone.store.sqlite.version_5 import VERSION_5

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

MIGRATIONS: Final = (_VERSION_1, _VERSION_2, _VERSION_3, VERSION_4, VERSION_5)
"""Number n brings a file from version n to version n + 1."""
SCHEMA_VERSION: Final = len(MIGRATIONS)
"""That of the files which this host writes."""
