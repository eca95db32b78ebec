"""`--watch`: the same again whenever a file of the block is saved, until Ctrl-C."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cuttlebone.blocks.watching import changes
from cuttlebone.cli.output import write_note

WatchFlag: TypeAlias = Annotated[
    bool,
    typer.Option("--watch", help="Build and run again whenever a file is saved, until Ctrl-C."),
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
    _round(round_)
    write_note(f"watching {folder}; Ctrl-C ends it")
    for saved in changes(folder, written=written):
        names = dict.fromkeys(path.name for path in saved)
        write_note(f"saved  {', '.join(names)}")
        _round(round_)


def _round(round_: Callable[[], None]) -> None:
    with suppress(typer.Exit):  # it has said what was wrong
        round_()
