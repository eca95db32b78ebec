"""Pages of jobs: bounded by their number, and where envelopes are wanted by their bytes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cuttlebone.api.cursors import cursor_after
from cuttlebone.api.resource_views import job_summary
from cuttlebone.http_types import JobPage, ListedJob
from cuttlebone.job.job import Job
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.job_service import JobService
from cuttlebone_abi import dump_json

ENVELOPE_BYTES_MAX: Final = 4 << 20
"""Of the envelopes on a page, but for the last one."""
READ_AT_ONCE: Final = 8
"""Jobs whose envelopes are in memory though they may not fit on the page."""


def job_page(jobs: JobService, wanted: JobFilter, *, envelopes: bool = False) -> JobPage:
    """The next jobs, at most `wanted.limit`, and where to go on if there are more."""
    page: list[ListedJob] = []
    size, last = 0, None
    for job in _newest_first(jobs, wanted, READ_AT_ONCE if envelopes else wanted.limit + 1):
        if len(page) == wanted.limit or size >= ENVELOPE_BYTES_MAX:
            return JobPage(jobs=page, cursor=_cursor(jobs, last))
        envelope = job.envelope if envelopes else None
        size += 0 if envelope is None else len(dump_json(envelope))
        page.append(ListedJob(**dict(job_summary(job)), envelope=envelope))
        last = job
    return JobPage(jobs=page)


def _newest_first(jobs: JobService, wanted: JobFilter, step: int) -> Iterator[Job]:
    wanted = replace(wanted, limit=step)
    while found := jobs.find(wanted):
        yield from found
        if len(found) < step:
            return
        wanted = replace(wanted, before=found[-1].number)


def _cursor(jobs: JobService, last: Job | None) -> str | None:
    return None if last is None else cursor_after(jobs.secret, last.tenant, last.number)
