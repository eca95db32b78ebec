"""`cuttlebone job`: one job of a running host, shown, watched, awaited, cancelled, exported or forgotten."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.console import Console

from cuttlebone.cli.job_ids import whole_id
from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting, status_of
from cuttlebone.cli.output import json_text, write_json, write_line
from cuttlebone.cli.watching import EventView
from cuttlebone.client import Client, StreamEvent
from cuttlebone.errors import OperatorError
from cuttlebone.text.addresses import DEFAULT_URL
from cuttlebone_abi import load_json

app = typer.Typer(help="Show, watch, await, cancel, export or forget a job of a running host.")

JobArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="The id of the job, its beginning, `last`, or `last~2` for two before that.",
    ),
]


@app.command(epilog="Example: cuttlebone job show 5f0c --url http://127.0.0.1:8420")
def show(job_id: JobArgument, *, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """Show a job as it stands, with its envelope when it has ended, and what its callback was told."""
    with reporting(as_json=as_json), Client(url) as client:
        own_id = whole_id(client, job_id)
        job, told = client.job(own_id), client.deliveries(own_id)
    write_json({**job.model_dump(mode="json"), **told.model_dump(mode="json")}, pretty=not as_json)


@app.command(epilog="Example: cuttlebone job events 5f0c --json")
def events(
    job_id: JobArgument,
    *,
    after: Annotated[int, typer.Option(min=0, help="Leave out events up to this number.")] = 0,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Show the events of a job, from its first one, as they come, until it ends.

    A connection that breaks is taken up again where it stopped. With --json each event is a
    line, with its number, kind and data.
    """
    view = EventView(Console(markup=False, emoji=False, highlight=False))
    with reporting(as_json=as_json), Client(url) as client, closing(view):
        for event in client.events(whole_id(client, job_id), after=after):
            if as_json:
                _write_event(event)
            else:
                view.show(event.kind, event.data)


@app.command(epilog="Example: cuttlebone job wait last && cuttlebone job result last")
def wait(job_id: JobArgument, *, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """Wait until a job has ended, over restarts of its host, and say how.

    The exit status is 0 if it completed, 1 if it failed and 3 if it was cancelled. Ctrl-C ends the
    waiting, not the job.
    """
    with reporting(as_json=as_json), Client(url) as client:
        job = client.wait(whole_id(client, job_id))
        envelope = job.envelope or client.result(job.id)
    if as_json:
        write_json(job.model_dump(mode="json"), pretty=False)
    else:
        write_line(f"{job.id} is {job.status}")
    raise typer.Exit(status_of(envelope))


@app.command(epilog="Example: cuttlebone job result last --json")
def result(job_id: JobArgument, *, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """Write the envelope of a job that has ended.

    The exit status is 0 if it completed, 1 if it failed, 3 if it was cancelled, and 2 if it has not
    ended yet.
    """
    with reporting(as_json=as_json), Client(url) as client:
        envelope = client.result(whole_id(client, job_id))
    write_json(envelope.model_dump(mode="json"), pretty=not as_json)
    raise typer.Exit(status_of(envelope))


@app.command(epilog="Example: cuttlebone job cancel 5f0c")
def cancel(job_id: JobArgument, *, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """Ask for the end of a job. One that has ended already stays as it is."""
    with reporting(as_json=as_json), Client(url) as client:
        job = client.cancel(whole_id(client, job_id))
    if as_json:
        write_json(job.model_dump(mode="json"), pretty=False)
    elif job.status.final:
        write_line(f"{job.id} is {job.status}")
    else:
        write_line(f"{job.id} is being cancelled")


@app.command(epilog="Example: cuttlebone job forget 5f0c")
def forget(job_id: JobArgument, *, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """Wipe a job that has ended from its host: input, events, journal and envelope."""
    with reporting(as_json=as_json), Client(url) as client:
        own_id = whole_id(client, job_id)
        client.forget(own_id)
    if as_json:
        write_json({"forgotten": own_id}, pretty=False)
    else:
        write_line(f"{own_id} is forgotten")


@app.command(epilog="Example: cuttlebone job export 5f0c --output cases/long-file.json")
def export(
    job_id: JobArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to stdout."),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Write a job with its recorded steps as one JSON file, which `cuttlebone replay` takes.

    It has the job's input and all that its model said, and if the job was recorded in full also
    what it read of files.
    """
    with reporting(as_json=as_json):
        with Client(url) as client:
            document = load_json(client.journal(whole_id(client, job_id)))
        if output is None:
            write_json(document, pretty=not as_json)
            return
        try:
            output.write_text(json_text(document, pretty=not as_json) + "\n", encoding="utf-8")
        except OSError as error:
            raise OperatorError(f"{output} cannot be written: {error.strerror}") from None


def _write_event(event: StreamEvent) -> None:
    write_json(event.model_dump(mode="json"), pretty=False)
