"""The queued jobs of the store in memory, in the order in which they are handed out, and to whom."""

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator

from cuttlebone.job.job import Job
from cuttlebone_abi import JobStatus


class QueueOrder:
    """Ids of queued jobs, by rank and then by acceptance. Owner: the store, under its lock."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, str]] = []

    def add(self, job: Job) -> None:
        """Put a job to its place, which is the same each time."""
        bisect.insort(self._entries, (job.rank, job.number, job.id))

    def remove(self, job_id: str) -> None:
        """Take a job out, if it is in line."""
        self._entries = [entry for entry in self._entries if entry[2] != job_id]

    def __iter__(self) -> Iterator[str]:
        return (job_id for _, _, job_id in self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def busy_tenants(jobs: Iterable[Job], running_max: int | None) -> frozenset[str]:
    """Tenants with as many jobs running as they may have."""
    if running_max is None:
        return frozenset()
    running = Counter(job.tenant for job in jobs if job.status is JobStatus.RUNNING)
    return frozenset(tenant for tenant, count in running.items() if count >= running_max)
