"""What a whole job of a block without a model costs, with few jobs kept and with many."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cuttlebone.assembly import open_host
from cuttlebone.job.job import Submission
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from report import Row, at_most_times

MEASURED: Final = 100
KEPT: Final = (10, 1_000, 10_000)
KEPT_QUICK: Final = (10, 400)
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PORTION: Final = 500
"""Jobs that wait at once."""


def growth_costs(specs: Path, *, quick: bool) -> Iterator[Row]:
    """Processor time and memory for a job of the block `report` in the folder `specs`."""
    with TemporaryDirectory() as name:
        settings = Settings(specs=specs, state=Path(name, "state"), cache=Path(name, "cache"))
        with open_host(settings) as host:
            done, base = 0, None
            for kept in KEPT_QUICK if quick else KEPT:
                _run(host, kept - done)
                before_s = _cpu_s()
                _run(host, MEASURED)
                cpu_ms = 1e3 * (_cpu_s() - before_s) / MEASURED
                done = kept + MEASURED
                figure = f"job_cpu_{kept}_kept_ms"
                row = Row(figure, cpu_ms, "ms")
                yield row if base is None else at_most_times(figure, cpu_ms, "ms", base, 1.25)
                base = base or row
                yield Row(f"rss_{kept}_kept_mib", _rss_mib(), "MiB")


def _run(host: Host, count: int) -> None:
    """Run so many jobs to their ends."""
    for begin in range(0, count, PORTION):
        for number in range(begin, min(begin + PORTION, count)):
            host.jobs.submit(Submission("report", number))
        while host.jobs.pending(JobFilter()):
            time.sleep(0.05)


def _cpu_s() -> float:
    """Processor time of this process, of the zygote, and of all that it has waited for."""
    own = Path("/proc/self/task").iterdir()
    children = {child for one in own for child in (one / "children").read_text().split()}
    return time.process_time() + sum(map(_whole_s, children))


def _whole_s(process: str) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def _rss_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024
