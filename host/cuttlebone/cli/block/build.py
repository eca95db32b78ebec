"""`cuttlebone block build`: the right toolchain for the folder of a block."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cuttlebone.authoring.building import BuildFailed
from cuttlebone.authoring.building import build as build_folder
from cuttlebone.authoring.folder import BlockFolder, open_folder
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import complain, write_json, write_line
from cuttlebone.cli.statuses import ExitStatus

app = typer.Typer()

FolderArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of the block, with its spec.")
]


@app.command(epilog="Example: cuttlebone block build my-block")
def build(
    folder: FolderArgument = Path(),
    *,
    names: Annotated[
        bool,
        typer.Option("--names", help="Keep the names of functions, which a trap then tells."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compile a block from its sources into the module that its spec names.

    C and Zig need `ziglang` from PyPI, Rust needs cargo with the target wasm32-unknown-unknown, and
    AssemblyScript needs its compiler from npm; what is missing is named. The exit status is 1 if
    the sources do not compile.
    """
    with reporting(as_json=as_json):
        module = built(open_folder(folder), names=names, as_json=as_json)
    size = module.stat().st_size
    if as_json:
        write_json({"module": str(module), "size_bytes": size}, pretty=False)
    else:
        write_line(f"built  {module}: {size} bytes")


def built(folder: BlockFolder, *, names: bool = False, as_json: bool) -> Path:
    """Build, or leave with exit status 1 and a complaint; raise OperatorError."""
    try:
        return build_folder(folder, names=names)
    except BuildFailed as failure:
        complain("build_failed", str(failure), as_json=as_json)
        raise typer.Exit(ExitStatus.FAILED) from None
