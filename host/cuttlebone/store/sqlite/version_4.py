"""Version 4 of the tables: ids of tenants, specs as accepted, owners and leases, one order of all events, the outbox."""

from typing import Final

_JOBS: Final = """
-- An id belongs to its tenant. `rank` orders the queue: the moment of acceptance on a clock that never
-- goes back, moved ahead by the priority. An attempt has its owner and a lease while it runs.
-- What may be large stands last, so that a look at where a job stands does not read it.
create table jobs_4 (
    number integer primary key,
    tenant text not null,
    id text not null,
    spec text not null,
    request_sha256 text not null,
    block_sha256 text,
    spec_sha256 text,
    priority text not null,
    rank integer not null,
    status text not null
        check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
    attempt integer not null default 0,
    crashes integer not null default 0,
    owner text,
    lease_us integer,
    created_us integer not null,
    expires_us integer,
    ttl_s integer,
    started_us integer,
    finished_us integer,
    cancel_requested integer not null default 0,
    events integer not null default 0,
    recording text not null,
    callback_url text,
    limits blob not null,
    labels blob not null,
    accounting blob,
    progress blob,
    input blob not null,
    envelope blob,
    unique (tenant, id),
    check ((status in ('completed', 'failed', 'cancelled')) = (envelope is not null)),
    check ((finished_us is null) = (envelope is null)),
    check (status != 'running' or started_us is not null),
    check ((status = 'running') = (owner is not null)),
    check ((owner is null) = (lease_us is null))
) strict;
-- What ran belongs to the host that died: the lease has ended, and the name is the next one's.
insert into jobs_4
select number, tenant, id, spec, request_sha256, null, null, priority, rank, status, attempt, crashes,
    iif(status = 'running', 'host/3', null), iif(status = 'running', 0, null),
    created_us, expires_us, ttl_s, started_us, finished_us, cancel_requested, events, recording,
    callback_url, limits, labels, accounting, progress, input, envelope
from jobs;
drop table jobs;
alter table jobs_4 rename to jobs;
create index jobs_queue on jobs (rank, number) where status = 'queued';
create index jobs_tenant on jobs (tenant, number);
create index jobs_tenant_queue on jobs (tenant, rank, number) where status = 'queued';
create index jobs_running on jobs (tenant) where status = 'running';
create index jobs_expiring on jobs (expires_us) where status = 'queued' and expires_us is not null;
create index jobs_finished on jobs (finished_us) where finished_us is not null and ttl_s is null;
create index jobs_finished_ttl on jobs (finished_us + ttl_s * 1000000)
    where finished_us is not null and ttl_s is not null;
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
"""

_SPEC_VERSIONS: Final = """
-- What jobs were accepted for: each spec as it took effect, once, until the last job that names it
-- is wiped. `jobs` counts those that do, so that to wipe one costs no look at the others. The
-- documents stand apart: to count would mean to read a whole one with each job.
create table spec_versions (
    sha256 text primary key,
    jobs integer not null default 0
) strict, without rowid;
create table spec_documents (
    sha256 text primary key references spec_versions (sha256) on delete cascade,
    document blob not null
) strict;
create trigger jobs_naming_spec after insert on jobs when new.spec_sha256 is not null begin
    update spec_versions set jobs = jobs + 1 where sha256 = new.spec_sha256;
end;
create trigger jobs_leaving_spec after delete on jobs when old.spec_sha256 is not null begin
    update spec_versions set jobs = jobs - 1 where sha256 = old.spec_sha256;
    delete from spec_versions where sha256 = old.spec_sha256 and jobs = 0;
end;
"""

_EVENTS: Final = """
-- `row` is the place in the order of all events. Where a job was forgotten its last one stays as a
-- gap without a job, so that no row is ever given twice and a reader who was before it is told. Its
-- data is the tenant, a line feed and the id: a trigger may use no function that makes JSON.
create table job_events_4 (
    row integer primary key,
    job integer references jobs (number) on delete cascade,
    number integer not null,
    kind text not null,
    at_us integer not null,
    data blob not null,
    unique (job, number)
) strict;
-- A job's events in their order, though the wall clock may have been set back between them.
insert into job_events_4 (job, number, kind, at_us, data)
select job, number, kind, at_us, data from job_events
order by max(at_us) over (partition by job order by number), job, number;
drop table job_events;
alter table job_events_4 rename to job_events;
create index job_events_gaps on job_events (row) where job is null;
create trigger jobs_forgotten before delete on jobs begin
    update job_events
    set job = null, number = 0, kind = 'gap', data = cast(old.tenant || char(10) || old.id as blob)
    where job = old.number and number = old.events;
end;
insert into meta values ('gaps_lost_row', 0);
"""

_OUTBOX: Final = """
-- What is due because a job has ended, by topic, and each attempt at it. It takes the place of
-- `deliveries`, which knew callbacks alone.
create table outbox (
    number integer primary key,
    job integer not null references jobs (number) on delete cascade,
    topic text not null,
    id text not null unique,
    state text not null check (state in ('pending', 'delivered', 'abandoned')),
    created_us integer not null,
    next_us integer,
    unique (job, topic),
    check ((state = 'pending') = (next_us is not null))
) strict;
create index outbox_due on outbox (topic, next_us) where state = 'pending';
create table outbox_attempts (
    delivery integer not null references outbox (number) on delete cascade,
    number integer not null,
    at_us integer not null,
    status integer,
    reason text not null,
    took_ms integer not null,
    primary key (delivery, number)
) strict, without rowid;
insert into outbox (number, job, topic, id, state, created_us, next_us)
select job, job, 'callback', id, state, created_us, next_us from deliveries;
insert into outbox_attempts
select job, number, at_us, status, reason, took_ms from delivery_attempts;
drop table delivery_attempts;
drop table deliveries;
"""

VERSION_4: Final = _JOBS + _SPEC_VERSIONS + _EVENTS + _OUTBOX
"""It makes tables anew, so the file needs as much free space as it has."""
