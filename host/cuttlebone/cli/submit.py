"""`cuttlebone submit`: a job for a running host."""

import sys
from typing import Annotated

import typer

from cuttlebone.cli.connecting import client_of
from cuttlebone.cli.following import follow
from cuttlebone.cli.options import (
    DEFAULT_URL,
    InputOption,
    JsonFlag,
    LabelsOption,
    LimitsOption,
    UrlOption,
    read_input,
    read_labels,
    read_limits,
)
from cuttlebone.cli.outcome import reporting, status_of
from cuttlebone.cli.output import write_json, write_line, write_note
from cuttlebone.cli.watching import EventView, stderr_console
from cuttlebone.client import Client
from cuttlebone_abi import Envelope

app = typer.Typer()


@app.command(
    epilog="""Example: cuttlebone submit summarize --input '{"path": "texts/tide-mill.txt"}' --wait"""
)
def submit(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The name of a spec of the host.")],
    *,
    stated_input: InputOption,
    limits: LimitsOption = None,
    labels: LabelsOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait for the end and write the envelope.")
    ] = False,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Submit a job to a running host and write its id, or with --wait its envelope.

    With --wait the exit status is that of `run`; Ctrl-C then ends the waiting, not the job. With
    --json the whole job is written instead of its id.
    """
    with reporting(as_json=as_json), client_of(url) as client:
        job = client.submit(
            spec,
            read_input(stated_input),
            limits=read_limits(limits),
            labels=read_labels(labels),
        )
        if not wait:
            if as_json:
                write_json(job.model_dump(mode="json"), pretty=False)
            else:
                write_line(job.id)
            return
        envelope = _waited(client, job.id, watched=sys.stderr.isatty() and not as_json)
    write_json(envelope.model_dump(mode="json"), pretty=not as_json)
    raise typer.Exit(status_of(envelope))


def _waited(client: Client, job_id: str, *, watched: bool) -> Envelope:
    try:
        if watched:
            return follow(client, job_id, EventView(stderr_console()))
        client.wait(job_id)
        return client.result(job_id)
    except KeyboardInterrupt:
        write_note(f"the job goes on; `cuttlebone job cancel {job_id}` ends it")
        raise
