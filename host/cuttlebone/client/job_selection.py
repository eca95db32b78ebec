"""Which jobs are meant, by a listing or by what is done to many: the keywords that these share."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypedDict

from cuttlebone_abi import JobStatus


class JobSelection(TypedDict, total=False):
    """All of what is stated holds for a job that is meant. docs/http-api.md says what each means."""

    status: JobStatus | Iterable[JobStatus] | None
    """One of these."""
    spec: str | Iterable[str] | None
    """One of these."""
    label: str | Iterable[str] | None
    """`key=value`: all of these."""
    created_after: datetime | None
    """A moment with a time zone."""
    created_before: datetime | None
    error_code: str | None
    """Of a job that failed or was cancelled."""
    tenant: str | None
    """Whose jobs, for a token with the scope `admin`."""


_KEYS: Final = tuple(JobSelection.__annotations__)


class PageSelection(JobSelection, total=False):
    """What a page has of the jobs that are meant."""

    envelopes: bool
    """Show how each job ended."""
    count: bool
    """Tell how many there are on all pages."""
    limit: int
    """Jobs on the page, at most 200; 50 unless stated."""
    cursor: str | None
    """Of the page before."""
    wait_s: float
    """Seconds, at most 60, to wait until none of all that are meant is queued or running."""


def selection_query(chosen: JobSelection) -> dict[str, list[str]]:
    """Write a selection as keys of a query."""
    stated = {name: chosen.get(name) for name in _KEYS}
    return {name: _texts(value) for name, value in stated.items() if value is not None}


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case datetime():
            return [value.isoformat()]
        case Iterable():
            return [str(one) for one in value]
        case _:
            raise TypeError(f"{value!r} says nothing of a job")
