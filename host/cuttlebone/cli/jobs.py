"""`cuttlebone jobs`: the jobs of a running host."""

from typing import Annotated, Final

import typer

from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_note, write_table
from cuttlebone.client import Client, JobSummary
from cuttlebone.text.addresses import DEFAULT_URL
from cuttlebone_abi import JobStatus

PAGE_MAX: Final = 200
"""What a host gives at once."""

app = typer.Typer()


@app.command(epilog="Example: cuttlebone jobs --status running --label team=docs")
def jobs(
    *,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs that stand so.")] = None,
    spec: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Only jobs of this spec.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE", help="Only jobs with this label.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=PAGE_MAX, help="How many at most.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(help="Go on where the listing before stopped.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """List the jobs of a running host, newest first."""
    with reporting(as_json=as_json), Client(url) as client:
        page = client.jobs(status=status, spec=spec, label=label, limit=limit, cursor=cursor)
    if as_json:
        write_json(page.model_dump(mode="json"), pretty=False)
        return
    write_table(("id", "spec", "status", "created", "took"), map(_row, page.jobs))
    if page.cursor is not None:
        write_note(f"there are more: --cursor {page.cursor}")


def _row(job: JobSummary) -> tuple[str, ...]:
    created = job.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return job.id, job.spec, _standing(job), created, _took(job)


def _standing(job: JobSummary) -> str:
    if job.cancel_requested and not job.status.final:
        return f"{job.status}, being cancelled"
    return job.status


def _took(job: JobSummary) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return f"{(job.finished_at - job.started_at).total_seconds():.1f} s"
