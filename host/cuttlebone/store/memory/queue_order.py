"""The queued jobs of the store in memory, in the order in which they are handed out."""

import bisect
from collections.abc import Container
from typing import TypeAlias

from cuttlebone.job.job import JobKey

Place: TypeAlias = tuple[int, int, JobKey]
"""Rank, number in the order of acceptance, and whose it is."""


class QueueOrder:
    """Keys of queued jobs, by rank and then by acceptance. Owner: the store, under its lock.

    Each tenant has a line of its own, so that a claim looks at the first of each and at no other,
    however many jobs a tenant has that is passed over. Invariant: a line is sorted and not empty.
    """

    def __init__(self) -> None:
        self._lines: dict[str, list[Place]] = {}
        self._size = 0

    def add(self, place: Place) -> None:
        """Put a job to its place, which is the same each time."""
        bisect.insort(self._lines.setdefault(place[2].tenant, []), place)
        self._size += 1

    def remove(self, place: Place) -> None:
        """Take a job out that is in line."""
        line = self._lines[place[2].tenant]
        del line[bisect.bisect_left(line, place)]
        self._size -= 1
        if not line:
            del self._lines[place[2].tenant]

    def first(self, passed_over: Container[str]) -> JobKey | None:
        """The job that goes first of those whose tenant is not passed over."""
        heads = [line[0] for tenant, line in self._lines.items() if tenant not in passed_over]
        return min(heads)[2] if heads else None

    def before(self, place: Place) -> int:
        """How many jobs of its tenant go before a place."""
        return bisect.bisect_left(self._lines.get(place[2].tenant, []), place)

    def waiting(self, tenant: str) -> int:
        """How many jobs of a tenant are in line."""
        return len(self._lines.get(tenant, ()))

    def __len__(self) -> int:
        return self._size
