"""`cuttlebone submit`: a job for a running host."""

import sys
import time
from typing import Annotated

import typer

from cuttlebone.cli.following import follow
from cuttlebone.cli.options import (
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
from cuttlebone.text.addresses import DEFAULT_URL
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
    urgent: Annotated[
        bool, typer.Option("--interactive", help="Go before jobs for which nobody waits.")
    ] = False,
    ttl_s: Annotated[
        int | None, typer.Option(min=1, help="How long the job is kept after its end.")
    ] = None,
    expires_in_s: Annotated[
        int | None, typer.Option(min=1, help="How long the job may wait to be started.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--record-full", help="Keep every step whole in the journal.")
    ] = False,
    callback: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where its end is told; a host that the operator lists."),
    ] = None,
    own_id: Annotated[
        str | None,
        typer.Option("--id", help="An id of your own: the same submission again is the same job."),
    ] = None,
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
    with reporting(as_json=as_json), Client(url) as client:
        job = client.submit(
            spec,
            read_input(stated_input),
            limits=read_limits(limits),
            labels=read_labels(labels),
            priority="interactive" if urgent else "batch",
            ttl_s=ttl_s,
            expires_in_s=expires_in_s,
            record="full" if full else None,
            callback_url=callback,
            job_id=own_id,
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
            return follow(client, job_id, EventView(stderr_console(), time.monotonic))
        client.wait(job_id)
        return client.result(job_id)
    except KeyboardInterrupt:
        write_note(f"the job goes on; `cuttlebone job cancel {job_id}` ends it")
        raise
