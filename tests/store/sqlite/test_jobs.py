"""What the durable store does in portions, so that nothing holds up everything else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cuttlebone.job.events import EventFilter, EventKind
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.sqlite import stores_over
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.sqlite.events import SCANNED_MAX
from cuttlebone.store.sqlite.jobs import WIPED_AT_ONCE_MAX
from cuttlebone.store.sqlite.writer import Transaction
from cuttlebone.store.stores import Stores
from store.stores import START, claimed, finish, insert, job, key

COPIES = """
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
insert into jobs (id, tenant, spec, request_sha256, priority, rank, status, created_us,
    finished_us, recording, limits, labels, input, envelope)
select 'copy-' || n, jobs.tenant, spec, request_sha256, priority, rank, jobs.status, created_us,
    finished_us, recording, limits, labels, input, envelope from jobs, numbers where id = 'a'
"""
TOKENS = """
with recursive numbers (n) as (select 100 union all select n + 1 from numbers where n < ?)
insert into job_events (job, number, kind, at_us, data)
select jobs.number, n, 'token', 0, x'31' from jobs, numbers where id = 'a'
"""


@pytest.fixture
def metrics() -> HostMetrics:
    return HostMetrics()


@pytest.fixture
def database(tmp_path: Path, metrics: HostMetrics) -> Iterator[Database]:
    opened = Database(tmp_path, metrics=metrics)
    yield opened
    opened.close()


@pytest.fixture
def stores(database: Database) -> Stores:
    return stores_over(database)


def fill(database: Database, statement: str, count: int) -> None:
    def change(transaction: Transaction) -> None:
        transaction.connection.execute(statement, (count,))

    database.do(change)


def commits(metrics: HostMetrics) -> int:
    name = "cuttlebone_store_commit_seconds_count "
    lines = metrics.exposition().decode().splitlines()
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


def test_many_jobs_are_wiped_in_several_commits(
    database: Database, stores: Stores, metrics: HostMetrics
) -> None:
    insert(stores, "a")
    finish(stores, "a")
    fill(database, COPIES, 2 * WIPED_AT_ONCE_MAX)
    before = commits(metrics)
    years = timedelta(days=9_999)

    assert stores.jobs.forget_finished_before(START + years, ttl_s=1) == 2 * WIPED_AT_ONCE_MAX + 1
    assert commits(metrics) - before == 4  # three portions, and the gaps


def test_a_read_of_all_events_that_wants_few_stops_after_so_many(
    database: Database, stores: Stores
) -> None:
    insert(stores, "a")
    claimed(stores)
    fill(database, TOKENS, SCANNED_MAX + 200)
    insert(stores, "b")
    wanted = EventFilter(kinds=frozenset({EventKind.STATUS}))
    first = stores.events.read_all(None, wanted, limit=99)
    rest = stores.events.read_all(first.cursor, wanted, limit=99)

    assert (len(first.events), first.cursor) == (2, str(SCANNED_MAX))
    assert [one.key for one in rest.events] == [key("b")]


def test_a_tenant_that_is_passed_over_does_not_hide_the_first_of_the_others(stores: Stores) -> None:
    for name in ("a", "b", "c"):
        insert(stores, name)
    for tenant in ("x", "y"):
        stores.jobs.insert(job("d", tenant), waiting_max=99).result()
    claims = [stores.jobs.claim(tenant_running_max=1) for _ in range(4)]

    assert [one and one.key for one in claims] == [key("a"), key("d", "x"), key("d", "y"), None]
