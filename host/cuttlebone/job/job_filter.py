"""Which jobs are meant: by a listing, by a wait for all of them, by an end of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cuttlebone.job.job import Job
from cuttlebone_abi import Completed, JobStatus

LIVE: Final = frozenset(status for status in JobStatus if not status.final)
"""Where a job stands that has not ended."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are meant: those for which all holds that is stated, newest first.

    An empty set of statuses or specs is any. `before` is the number of the last job already seen: it
    says where to go on even when that job was forgotten meanwhile.
    """

    tenant: str | None = None
    statuses: frozenset[JobStatus] = frozenset()
    specs: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    """A job has all of these, and may have others."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    error_code: str | None = None
    """Of the envelope of a job that did not complete."""
    limit: int = 50
    before: int | None = None

    def matches(self, job: Job) -> bool:
        """Whether this job is meant."""
        return (
            self.tenant in {None, job.tenant}
            and (not self.statuses or job.status in self.statuses)
            and (not self.specs or job.spec in self.specs)
            and self.labels.items() <= job.labels.items()
            and (self.created_after is None or job.created_at > self.created_after)
            and (self.created_before is None or job.created_at < self.created_before)
            and self.error_code in {None, _error_code(job)}
            and (self.before is None or job.number < self.before)
        )


def _error_code(job: Job) -> str | None:
    envelope = job.envelope
    return None if envelope is None or isinstance(envelope, Completed) else envelope.error.code
