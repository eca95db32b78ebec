"""The queued jobs of the store in memory, in the order in which they are handed out."""

import bisect
from collections.abc import Iterator

from cuttlebone.jobs.job import Job


class Line:
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
