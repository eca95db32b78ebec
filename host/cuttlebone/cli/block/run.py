"""`cuttlebone block run`: one job of a block on its own, and everything that is said in it."""

import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.folder import BlockFolder, is_stale, open_folder
from cuttlebone.authoring.solo import SoloEnd, SoloFile, run_file
from cuttlebone.cli.block.build import built
from cuttlebone.cli.block.rounds import WatchFlag, once_or_watching
from cuttlebone.cli.block.views import JobView, JsonView, ProgressView, QuietView, TraceView
from cuttlebone.cli.host_options import StatedSettings, stated_limits, takes_settings
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.model_file import model_file
from cuttlebone.cli.options import (
    InputOption,
    JsonFlag,
    LimitsOption,
    pairs,
    read_input,
    read_limits,
)
from cuttlebone.cli.outcome import reporting, status_of
from cuttlebone.cli.output import write_json, write_note
from cuttlebone.cli.watching import stderr_console
from cuttlebone.errors import OperatorError

app = typer.Typer()


@app.command(
    epilog="Example: cuttlebone block run my-block.wasm --read texts --trace "
    '--say "title=On Tea" --input \'{"path": "texts/tea.txt"}\'',
)
@takes_settings("isolation", "cache")
def run(
    stated: StatedSettings,
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The module, or a spec with its grants and limits."),
    ],
    *,
    stated_input: InputOption,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show every command and event with its time, on stderr.")
    ] = False,
    read: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="What a module may read, as in a spec. Repeatable."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="FILE.gguf", help="A model, or `demo`.")
    ] = None,
    say: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=TEXT",
            help="Without a model: say TEXT to prompts with PART in them. Repeatable.",
        ),
    ] = None,
    limits: LimitsOption = None,
    watch: WatchFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Run one job of a block and write its envelope; with --trace, show all that is said in it.

    Without --model the model is scripted: it says what --say tells it, else `ok`. Paths start from
    the current folder, or from that of the spec. The exit status is 0 if the job completed, 1 if it
    failed, 2 if it was refused and 3 if it was cancelled.
    """
    log_to_stderr(level=logging.WARNING)
    value, narrowed = read_input(stated_input), stated_limits(read_limits(limits))
    answers = pairs("--say", say, "PART=TEXT")

    def one_round() -> None:
        with reporting(as_json=as_json):
            if watch:
                _build_if_source(path.parent, as_json=as_json)
            file = None if model is None else model_file(model)
            job = SoloFile(path, value, read or (), narrowed, file, answers)
            with closing(_view(traced=trace, as_json=as_json)) as view:
                end = run_file(job, stated.read(), view, view.entry if trace else None)
        if trace and not as_json:
            _write_usage(end)
        write_json(end.envelope.model_dump(mode="json"), pretty=not as_json)
        raise typer.Exit(status_of(end.envelope))

    once_or_watching(one_round, path.parent, watch=watch, written=_written(path.parent))


def _written(folder: Path) -> frozenset[Path]:
    source = _source(folder)
    return frozenset() if source is None else frozenset({source.module})


def _build_if_source(folder: Path, *, as_json: bool) -> None:
    source = _source(folder)
    if source is not None and is_stale(source):
        built(source, as_json=as_json)


def _source(folder: Path) -> BlockFolder | None:
    """The folder as that of one block with its sources; None if it is no such folder."""
    try:
        opened = open_folder(folder)
        _ = opened.language
    except OperatorError:
        return None
    return opened


def _view(*, traced: bool, as_json: bool) -> JobView:
    if traced:
        return JsonView() if as_json else TraceView(stderr_console())
    watched = sys.stderr.isatty() and not as_json
    return ProgressView(stderr_console()) if watched else QuietView()


def _write_usage(end: SoloEnd) -> None:
    used = end.accounting
    write_note(
        f"{used.steps} steps, {used.guest_ms:.1f} ms in the guest, at most "
        f"{used.memory_bytes_peak} bytes of memory"
    )
