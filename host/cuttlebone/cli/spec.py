"""`cuttlebone spec`: spec files checked as a host would check them, without a host."""

from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.looking import LoadedSpec, check_specs
from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone_abi import Json

app = typer.Typer(help="Check spec files.")


@app.callback()
def _noun() -> None:
    """Keep `check` a command of its own, although it is the only one."""


@app.command(epilog="Example: cuttlebone spec check specs/")
@takes_settings()
def check(
    stated: StatedSettings,
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE…|FOLDER…", help="Spec files, or folders of them.")
    ],
    *,
    as_json: JsonFlag = False,
) -> None:
    """Check spec files and all that they name: block, schemas, grants.

    The exit status is 0 if a host would serve them all, 1 if one of them has a fault.
    """
    with reporting(as_json=as_json):
        checked = check_specs(paths, stated.read().limits_max)
    if as_json:
        write_json(
            {
                "specs": [_description(loaded) for loaded in checked.served.values()],
                "faults": [
                    {"path": str(path), "message": text}
                    for path, text in sorted(checked.faults.items())
                ],
            },
            pretty=False,
        )
    else:
        for name, loaded in checked.served.items():
            write_line(f"ok     {name}: {loaded.path}, block {loaded.block.digest[:19]}…")
        for _, text in sorted(checked.faults.items()):
            write_line(f"fault  {text}")
    raise typer.Exit(ExitStatus.FAILED if checked.faults else ExitStatus.DONE)


def _description(loaded: LoadedSpec) -> dict[str, Json]:
    return {
        "name": loaded.spec.name,
        "path": str(loaded.path),
        "description": loaded.spec.description,
        "model": loaded.spec.model,
        "block": loaded.block.digest,
        "signature": str(loaded.block.signature),
        "limits": loaded.limits.model_dump(),
    }
