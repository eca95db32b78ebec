"""What the job service costs: durable submissions, whole jobs, what many jobs and large inputs change.

Run: python tests/benchmarks/bench_jobs.py [--quick] [--json]

Submissions go through the real HTTP server of a host in another process, from plain sockets in this
one; each answer means that the job is on the disk. As both share the machine, `submit_cpu_ms` says
what a submission costs the host whatever else is going on.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import structlog
import wasmtime

from cuttlebone.assembly import open_host
from cuttlebone.job.job import Job, Submission, now
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.job_options import Limits
from cuttlebone.settings import Isolation, Settings
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.rows import COLUMNS
from cuttlebone_abi import JobStatus
from growth_costs import growth_costs
from http_load import Load, health_p99_ms, submit_all
from report import Row, at_most, run_benchmark
from store_costs import kept_jobs_costs, look_costs

TESTS: Final = Path(__file__).parents[1]
BLOCK: Final = TESTS / "guests" / "report.wat"
WAITING: Final = 100_000
_COPIES: Final = f"""
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
insert into jobs (id, rank, {", ".join(COLUMNS[1:])})
select 'job-' || n, rank, {", ".join(COLUMNS[1:])} from jobs, numbers where id = 'job'
"""  # names of our own
_COPIES_EVENTS: Final = """
insert into job_events (job, number, kind, at_us, data)
select jobs.number, 1, kind, at_us, data from jobs, job_events
where jobs.id != 'job'
"""
CLIENTS: Final = (1, 16, 64)
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything once."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    submissions, jobs = (1_500, 60) if quick else (10_000, 500)
    return (
        *_submissions(submissions),
        _followed(200 if quick else 1_000),
        *(_whole_jobs(jobs, isolation) for isolation in (Isolation.PROCESS, Isolation.THREAD)),
        *_growth(quick=quick),
        *_waiting(),
        *kept_jobs_costs(),
        *look_costs(),
    )


@dataclass(frozen=True, slots=True)
class _Host:
    process: subprocess.Popen[bytes]
    url: str

    def cpu_s(self) -> float:
        """What the process has spent so far, in user and kernel mode."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@contextmanager
def _host() -> Iterator[_Host]:
    """A host whose job threads are all busy, so that only submissions are measured."""
    with TemporaryDirectory() as folder:
        specs, state = Path(folder, "specs"), Path(folder, "state")
        specs.mkdir()
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("job_host.py")), specs, state],
            env={**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            host = _Host(process, process.stdout.readline().decode().strip())
            submit_all(host.url, clients=2, requests=2, spec="hold")
            submit_all(host.url, clients=16, requests=200)
            yield host
            process.stdin.close()


def _submissions(requests: int) -> Iterator[Row]:
    with _host() as host:
        for clients in CLIENTS:
            count = requests // 4 if clients == 1 else requests
            before_s = host.cpu_s()
            load = submit_all(host.url, clients=clients, requests=count)
            cpu_ms = 1e3 * (host.cpu_s() - before_s) / count
            yield from _rows(clients, load)
        yield Row("submit_cpu_ms", cpu_ms, "ms")


def _followed(probes: int) -> Row:
    """What `/healthz` takes while 200 clients stream the events of a job and 200 wait for its end."""
    with _host() as host:
        answer = httpx.post(f"{host.url}/v1/jobs", json={"spec": "echo", "input": None})
        job = answer.raise_for_status().json()["id"]
        p99_ms = health_p99_ms(host.url, job, streams=200, waits=200, probes=probes)
    return at_most("healthz_p99_ms_400_follow", p99_ms, "ms", 50)


def _rows(clients: int, load: Load) -> Iterator[Row]:
    name = f"submit{clients}"
    if clients == CLIENTS[-1]:
        goal = 1_000
        yield Row(f"{name}_per_s", load.per_s, "1/s", goal=f"≥ {goal}", met=load.per_s >= goal)
        yield Row(f"{name}_p50_ms", load.p50_ms, "ms")
        yield at_most(f"{name}_p99_ms", load.p99_ms, "ms", 200)
        return
    yield Row(f"{name}_per_s", load.per_s, "1/s")
    yield Row(f"{name}_p50_ms", load.p50_ms, "ms")
    yield Row(f"{name}_p99_ms", load.p99_ms, "ms")


def _whole_jobs(count: int, isolation: Isolation) -> Row:
    """Jobs of a real block without inference, from submission to envelope, on a durable store."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_block(folder)
        settings = Settings(
            specs=folder, state=folder / "state", cache=folder / "cache", isolation=isolation
        )
        with open_host(settings) as host:
            began_s = time.perf_counter()
            for number in range(count):
                host.jobs.submit(Submission("report", number))
            unfinished = (JobStatus.QUEUED, JobStatus.RUNNING)
            while any(
                host.jobs.find(JobFilter(statuses=frozenset({one}), limit=1)) for one in unfinished
            ):
                time.sleep(0.002)
            spent_s = time.perf_counter() - began_s
            failed = host.jobs.find(JobFilter(statuses=frozenset({JobStatus.FAILED}), limit=1))
            assert not failed, failed[0].envelope
    return Row(f"jobs_{isolation}_per_s", count / spent_s, "1/s")


def _growth(*, quick: bool) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        _write_block(Path(name))
        yield from growth_costs(Path(name), quick=quick)


def _write_block(folder: Path) -> None:
    (folder / "report.wasm").write_bytes(wasmtime.wat2wasm(BLOCK.read_text()))
    (folder / "report.yaml").write_text("name: report\ndescription: Reports.\nblock: report.wasm\n")


def _waiting() -> Iterator[Row]:
    """What 100 000 waiting jobs change."""
    with TemporaryDirectory() as name:
        few, many = Path(name, "few"), Path(name, "many")
        _fill(few, 100)
        _fill(many, WAITING)
        base = Row("claim_100_waiting_ms", _claim_ms(few), "ms")
        claim_ms = _claim_ms(many)
        yield base
        yield Row("claim_100000_waiting_ms", claim_ms, "ms", base.name, ratio=claim_ms / base.value)
        without = Row("rss_no_jobs_mib", _rss_mib(Path(name, "none")), "MiB")
        rss_mib = _rss_mib(many)
        yield without
        yield Row("rss_100000_waiting_mib", rss_mib, "MiB", without.name, rss_mib / without.value)


def _fill(folder: Path, count: int) -> None:
    """Make a store with jobs that wait: one is accepted, the others are its copies."""
    stores = open_sqlite_stores(folder)
    job = Job(
        id="job", spec="echo", input=b'{"path":"a"}', limits=Limits(), labels={}, created_at=now()
    )
    stores.jobs.insert(job, waiting_max=count).result()
    stores.close()
    with closing(connect(folder / FILE_NAME)) as connection:
        connection.execute(_COPIES, (count - 1,))
        connection.execute(_COPIES_EVENTS)


def _claim_ms(folder: Path) -> float:
    stores = open_sqlite_stores(folder)
    times_s = []
    for _ in range(50):
        began_s = time.perf_counter()
        stores.jobs.claim()
        times_s.append(time.perf_counter() - began_s)
    stores.close()
    return 1e3 * median(times_s)


def _rss_mib(folder: Path) -> float:
    """Resident memory of a process that opened the store and did some of everything."""
    ended = subprocess.run(
        [sys.executable, "-c", _RSS, str(folder)], capture_output=True, text=True, check=True
    )
    return int(ended.stdout) / 1024


_RSS: Final = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.store.sqlite import open_sqlite_stores

stores = open_sqlite_stores(Path(sys.argv[1]))
jobs = stores.jobs
for _ in range(20):
    jobs.claim(), jobs.waiting(), jobs.expired(datetime.now(UTC)), jobs.find(JobFilter())
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
stores.close()
"""

if __name__ == "__main__":
    run_benchmark("The job service", measure)
