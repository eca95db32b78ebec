"""`cuttlebone replay`: a recorded job driven again, without a model, to see whether a block still does the same."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from cuttlebone.authoring.replaying import (
    End,
    Replay,
    recorded_in,
    recorded_in_file,
    replay_again,
)
from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.job_ids import whole_id
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.client import Client
from cuttlebone.errors import OperatorError
from cuttlebone.job.recorded_job import RecordedJob, read_recorded_job
from cuttlebone.text.addresses import DEFAULT_URL

_STEP_CHARS_MAX: Final = 100

app = typer.Typer()


@app.command(
    epilog="Example: cuttlebone replay cases/long-file.json --block build/summarize.wasm",
)
@takes_settings("specs", "isolation")
def replay(
    stated: StatedSettings,
    source: Annotated[
        str,
        typer.Argument(
            metavar="JOB|FILE",
            help="A job's id, its beginning or `last`, or what `job export` wrote.",
        ),
    ],
    *,
    block: Annotated[
        Path | None,
        typer.Option(metavar="NEW.wasm", help="Replay this block instead of the spec's."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Find the job in this state folder, not in a running host."
        ),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Drive a block through a recorded job, without a model, and show where it diverges.

    Generations come from the record. What files gave does as well if the job was recorded in full
    (`record: full`); else the files are read again, as its spec grants them, and compared. The exit
    status is 0 if everything went as recorded, 1 if something did not, 2 if there was no replay.
    """
    log_to_stderr(level=logging.WARNING)
    with reporting(as_json=as_json):
        recorded = _recorded(source, state, url)
        shown = replay_again(recorded, block, stated.read())
    if as_json:
        write_json(asdict(shown), pretty=False)
    else:
        _show(shown)
    raise typer.Exit(ExitStatus.DONE if shown.same else ExitStatus.FAILED)


def _recorded(source: str, state: Path | None, url: str) -> RecordedJob:
    """Find the recorded job: in a file if there is one of that name, else in a state folder or host."""
    path = Path(source)
    if path.is_file():
        return recorded_in_file(path)
    if path.suffix == ".json":
        raise OperatorError(f"there is no file {path}")
    if state is not None:
        return recorded_in(state, source)
    with Client(url) as client:
        return read_recorded_job(client.journal(whole_id(client, source)), f"the answer of {url}")


def _show(shown: Replay) -> None:
    for step in shown.steps:
        write_line(f"{step.step:>6}  {_cut(step.command)}  [{step.answer}]")
    if shown.of_another_block:
        write_line(
            f"the job ran the block sha256:{shown.recorded_block_sha256}, "
            f"this one is sha256:{shown.block_sha256}"
        )
    found = shown.divergence
    if found is not None:
        write_line(f"diverged at step {found.step}, in its {found.what}:")
        write_line(f"  recorded: {found.recorded}")
        write_line(f"  instead:  {found.instead}")
        return
    endings = {
        End.SAME: "the same, and the same end",
        End.JOURNAL_OVER: "the same as far as the record goes",
    }
    write_line(f"{len(shown.steps)} steps, {endings[shown.end]}")


def _cut(command: str) -> str:
    text = " ".join(command.split())
    return text if len(text) <= _STEP_CHARS_MAX else f"{text[:_STEP_CHARS_MAX]}…"
