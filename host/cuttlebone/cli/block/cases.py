"""`cuttlebone block test`: the cases of a block through whole hosts."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.folder import BlockFolder, is_stale, open_folder
from cuttlebone.authoring.suite import BOTH_MODES, CaseOutcome, read_suite
from cuttlebone.authoring.trial import trial_settings
from cuttlebone.cli.block.build import FolderArgument, built
from cuttlebone.cli.block.rounds import WatchFlag, once_or_watching
from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.model_file import model_file
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.errors import OperatorError
from cuttlebone_abi import Json

app = typer.Typer()


@app.command("test", epilog="Example: cuttlebone block test my-block --build")
@takes_settings("isolation", "cache")
def run_cases(
    stated: StatedSettings,
    folder: FolderArgument,
    *,
    only: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="Run this case. Repeatable.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.gguf",
            help="Ask a real model, or `demo`, instead of the scripted answers.",
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Record what comes as what is expected.")
    ] = False,
    build: Annotated[bool, typer.Option("--build", help="Build the module before.")] = False,
    watch: WatchFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Run the cases of a block, cases/*.json, through whole hosts.

    Each case runs in a thread and in a process of its own, with the model that it scripts, so no
    model file is needed. The exit status is 0 if all came as expected, and 1 if one did not; the
    difference is then shown.
    """
    log_to_stderr(level=logging.ERROR)
    if watch and update:
        raise typer.BadParameter("what is recorded has to be looked at", param_hint="--update")
    options = _Options(tuple(only or ()), model, stated, update=update, as_json=as_json)

    def one_round() -> None:
        with reporting(as_json=as_json):
            opened = open_folder(folder)
            _run_all(opened, options, build=build or (watch and is_stale(opened)))

    once_or_watching(one_round, folder, watch=watch, written=_written(folder))


@dataclass(frozen=True, slots=True)
class _Options:
    """What every round does."""

    only: tuple[str, ...]
    model: str | None
    stated: StatedSettings
    update: bool
    as_json: bool


def _run_all(folder: BlockFolder, options: _Options, *, build: bool) -> None:
    if build:
        built(folder, as_json=options.as_json)
    file = None if options.model is None else model_file(options.model)
    settings = trial_settings(options.stated.read())
    suite = read_suite(folder, settings, only=options.only, model=file)
    once = options.update or file is not None
    modes = BOTH_MODES[: 1 if once else None]
    if (chosen := options.stated.flags["isolation"]) is not None:
        modes = (chosen,)
    outcomes = _shown(
        suite.update(modes[0]) if options.update else suite.run(modes),
        word="record" if options.update else "ok",
        as_json=options.as_json,
    )
    failed = any(not outcome.ok for outcome in outcomes)
    raise typer.Exit(ExitStatus.FAILED if failed else ExitStatus.DONE)


def _written(folder: Path) -> frozenset[Path]:
    try:
        return frozenset({open_folder(folder).module})
    except OperatorError:
        return frozenset()  # each round says what is wrong


def _shown(outcomes: Iterable[CaseOutcome], *, word: str, as_json: bool) -> list[CaseOutcome]:
    """Write each outcome as it comes, or all of them as one JSON object."""
    done = []
    for outcome in outcomes:
        done.append(outcome)
        if not as_json:
            sign = word if outcome.ok else "FAILED"
            write_line(f"{sign:<6} {outcome.case} ({outcome.isolation})")
            for line in outcome.difference:
                write_line(f"       {line}")
    if as_json:
        write_json({"runs": [_as_json(outcome) for outcome in done]}, pretty=False)
    else:
        write_line(f"{len(done)} runs, {sum(not outcome.ok for outcome in done)} failed")
    return done


def _as_json(outcome: CaseOutcome) -> dict[str, Json]:
    return {
        "case": outcome.case,
        "isolation": outcome.isolation,
        "ok": outcome.ok,
        "difference": list(outcome.difference),
    }
