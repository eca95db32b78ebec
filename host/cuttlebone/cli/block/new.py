"""`cuttlebone block new`: a folder to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.folder import Language
from cuttlebone.authoring.scaffold import new_block
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line

app = typer.Typer()


@app.command(epilog="Example: cuttlebone block new my-block --lang c")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the block, spec and folder.")],
    *,
    language: Annotated[Language, typer.Option("--lang", help="What to write it in.")],
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="Where the folder is made.")
    ] = Path(),
    as_json: JsonFlag = False,
) -> None:
    """Make a folder with a block that builds and passes its own cases: source, spec, cases, SDK."""
    with reporting(as_json=as_json):
        files = new_block(name, language, into)
    if as_json:
        write_json(
            {"folder": str(into / name), "files": [str(file) for file in files]}, pretty=False
        )
        return
    for file in files:
        write_line(f"made   {file}")
    write_line(f"now    cuttlebone block test {into / name} --build")
