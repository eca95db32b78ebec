"""`--watch`: the same again whenever a file of the block is saved, until Ctrl-C."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cuttlebone.authoring.watching import changes
from cuttlebone.cli.output import write_note

WatchFlag: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Run again whenever a file is saved, built first if it is of the sources; until Ctrl-C.",
    ),
]


def once_or_watching(
    round_: Callable[[], None], folder: Path, *, watch: bool, written: frozenset[Path]
) -> None:
    """Do one round; with `watch`, another one after each change, however each of them ends.

    A round ends by typer.Exit. `written` are the files that it writes itself.
    """
    if not watch:
        round_()
        return
    for saved in changes(folder, written=written):
        if saved:
            write_note(f"saved  {', '.join(path.name for path in saved)}")
        with suppress(typer.Exit):  # it has said what was wrong
            round_()
        if not saved:
            write_note(f"watching {folder}; Ctrl-C ends it")
