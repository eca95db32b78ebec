"""`cuttlebone replay`: a recorded job driven again, without a model, to see whether a block still does the same."""

import logging
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.client import Client
from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.replay import End, Replay, is_whole
from cuttlebone.execution.replay.replay import replay as replay_job
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.files import HandleTable
from cuttlebone.job.recorded_job import RecordedJob, read_recorded_job
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.settings import Settings
from cuttlebone.specs.catalog import spec_files_in
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.specs.loading import LoadedSpec, load_spec, read_block
from cuttlebone.specs.spec import Spec, read_spec
from cuttlebone.store.sqlite import recorded_in
from cuttlebone.text.addresses import DEFAULT_URL

DOCUMENT_BYTES_MAX: Final = 512 << 20
_STEP_CHARS_MAX: Final = 100

app = typer.Typer()


@app.command(
    epilog="Example: cuttlebone replay cases/long-file.json --block build/summarize.wasm",
)
@takes_settings("specs", "isolation")
def replay(
    stated: StatedSettings,
    source: Annotated[
        str, typer.Argument(metavar="JOB|FILE", help="A job's id, or what `job export` wrote.")
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
        shown = _replay(recorded, block, stated.read())
    if as_json:
        write_json(asdict(shown), pretty=False)
    else:
        _show(shown)
    raise typer.Exit(ExitStatus.DONE if shown.same else ExitStatus.FAILED)


def _recorded(source: str, state: Path | None, url: str) -> RecordedJob:
    """Find the recorded job: in a file if there is one of that name, else in a state folder or host."""
    path = Path(source)
    if path.is_file():
        with path.open("rb") as file:
            data = file.read(DOCUMENT_BYTES_MAX + 1)
        if len(data) > DOCUMENT_BYTES_MAX:
            raise OperatorError(f"{path} is larger than {DOCUMENT_BYTES_MAX} bytes")
        return read_recorded_job(data, source)
    if path.suffix == ".json":
        raise OperatorError(f"there is no file {path}")
    if state is not None:
        return recorded_in(state, source)
    with Client(url) as client:
        return read_recorded_job(client.journal(source), f"the answer of {url}")


def _replay(recorded: RecordedJob, block: Path | None, settings: Settings) -> Replay:
    with ExitStack() as stack:
        sandbox = stack.enter_context(
            Sandbox(settings.cache_folder / "modules", isolation=settings.isolation)
        )
        loaded = _loaded(recorded, block, settings, sandbox)
        if block is not None:
            chosen = sandbox.admit(read_block(block))
        elif loaded is not None:
            chosen = loaded.block
        else:
            raise AssertionError("without a block the spec is needed")
        files = None
        if loaded is not None and not is_whole(recorded):
            files = HandleTable(
                loaded.grants,
                handles_max=recorded.limits.handles,
                window_bytes_max=recorded.limits.window_bytes,
            )
            stack.callback(files.close_all)
        guest = stack.enter_context(
            closing(sandbox.open_guest(chosen, GuestLimits.of(recorded.limits)))
        )
        io_schemas = IoSchemas(chosen.signature) if loaded is None else loaded.io_schemas
        watchdog = stack.enter_context(Watchdog())
        return replay_job(guest, recorded, io_schemas, files, watchdog=watchdog)


def _loaded(
    recorded: RecordedJob, block: Path | None, settings: Settings, sandbox: Sandbox
) -> LoadedSpec | None:
    """Load the spec of the job; None if it is not there and not needed."""
    found = _spec(recorded.spec, settings.specs)
    if found is not None:
        path, spec = found
        return load_spec(spec, path, admit=sandbox.admit, limits_max=settings.limits_max)
    if block is not None and is_whole(recorded):
        return None
    needed = "block" if block is None else "files (it was not recorded in full)"
    raise OperatorError(
        f"no spec in {settings.specs} is named {recorded.spec!r}, and the replay needs its {needed}; "
        "give --specs DIR"
    )


def _spec(name: str, folder: Path) -> tuple[Path, Spec] | None:
    paths = spec_files_in(folder) if folder.is_dir() else []
    for path in paths:
        try:
            spec = read_spec(path)
        except OperatorError:
            continue  # a fault of another spec is no matter here
        if spec.name == name:
            return path, spec
    return None


def _show(shown: Replay) -> None:
    for step in shown.steps:
        write_line(f"{step.step:>6}  {_cut(step.command)}  [{step.answer}]")
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
