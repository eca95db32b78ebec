"""Which jobs a request means: the keys of the query that a listing and what is done to many jobs share."""

from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Query
from pydantic import AwareDatetime, StringConstraints

from cuttlebone.api.dependencies import SeenTenant
from cuttlebone.api.submission_body import LABEL_KEY, LABEL_VALUE_CHARS_MAX, LABELS_MAX
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.text import printable
from cuttlebone_abi import JobStatus

SPECS_MAX: Final = 16
"""Specs that one query names."""

SpecQuery: TypeAlias = Annotated[
    list[Annotated[str, StringConstraints(max_length=256)]],
    Query(description="Only jobs of this spec, or of one of several.", max_length=SPECS_MAX),
]
LabelQuery: TypeAlias = Annotated[
    list[
        Annotated[
            str,
            StringConstraints(pattern=f"^{LABEL_KEY}=", max_length=65 + LABEL_VALUE_CHARS_MAX),
        ]
    ],
    Query(
        description="Only jobs with this label, as `key=value`; of several, with all.",
        max_length=LABELS_MAX,
    ),
]


def labels_of(stated: list[str]) -> dict[str, str]:
    """Read labels as a query has them; raise CallerError where two cannot hold together."""
    labels: dict[str, str] = {}
    for one in stated:
        key, _, value = one.partition("=")
        if labels.setdefault(key, value) != value:
            raise CallerError(
                ProblemCode.BAD_REQUEST,
                f"`label` in the query: a job has one value of `{printable(key)}`, so two never hold",
            )
    return labels


def _selection(
    tenant: SeenTenant,
    status: Annotated[
        list[JobStatus],
        Query(description="Only jobs that stand there, or at one of several.", max_length=5),
    ] = [],  # noqa: B006  # the framework copies it
    spec: SpecQuery = [],  # noqa: B006
    label: LabelQuery = [],  # noqa: B006
    created_after: Annotated[
        AwareDatetime | None, Query(description="Only jobs that were accepted later.")
    ] = None,
    created_before: Annotated[
        AwareDatetime | None, Query(description="Only jobs that were accepted earlier.")
    ] = None,
    error_code: Annotated[
        str | None,
        Query(
            description="Only jobs that failed, or were cancelled, with this code.", max_length=64
        ),
    ] = None,
) -> JobFilter:
    return JobFilter(
        tenant=tenant,
        statuses=frozenset(status),
        specs=frozenset(spec),
        labels=labels_of(label),
        created_after=created_after,
        created_before=created_before,
        error_code=error_code,
    )


SelectedJobs: TypeAlias = Annotated[JobFilter, Depends(_selection)]


async def _stated(wanted: SelectedJobs) -> JobFilter:
    if wanted == JobFilter(tenant=wanted.tenant):
        raise CallerError(
            ProblemCode.BAD_REQUEST,
            "say in the query which jobs are meant: `status`, `spec`, `label`, `created_after`, "
            "`created_before` or `error_code`; all of them have one of the five `status`",
        )
    return wanted


StatedJobs: TypeAlias = Annotated[JobFilter, Depends(_stated)]
"""Where all jobs are meant only by whoever says so."""
