"""Which jobs are meant, by a listing or by what is done to many: the keywords that these share."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

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


def selection_query(chosen: JobSelection) -> dict[str, list[str]]:
    """Write a selection as keys of a query."""
    stated = {name: value for name, value in chosen.items() if value is not None}
    return {name: _texts(value) for name, value in stated.items()}


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
