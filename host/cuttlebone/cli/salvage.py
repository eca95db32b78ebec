"""`cuttlebone salvage`: what can be read of a damaged state folder, in a new one."""

from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.diagnosis.salvaging import Salvaged
from cuttlebone.diagnosis.salvaging import salvage as salvage_folder

app = typer.Typer()


@app.command(epilog="Example: cuttlebone salvage ~/.local/share/cuttlebone --into salvaged")
def salvage(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The state folder, as it is.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="A new folder.")],
    *,
    as_json: JsonFlag = False,
) -> None:
    """Make a state folder of what can be read of a damaged one, and say what is gone.

    STATE is not changed. A job is kept whole or not at all. The exit status is 0 if nothing is missing and
    1 if something is; each line names a job.
    """
    with reporting(as_json=as_json):
        salvaged = salvage_folder(state, into)
    if as_json:
        write_json(_plain(salvaged), pretty=False)
    else:
        for line in _lines(salvaged, into):
            typer.echo(shown(line))
    raise typer.Exit(ExitStatus.DONE if salvaged.whole else ExitStatus.FAILED)


def _plain(salvaged: Salvaged) -> dict[str, object]:
    return {
        "kept": salvaged.kept,
        "gone": [
            {"tenant": one.tenant, "id": one.id, "number": one.number, "why": one.why}
            for one in salvaged.gone
        ],
        "unnamed": salvaged.unnamed,
        "changes_gone": salvaged.changes_gone,
        "incomplete": list(salvaged.incomplete),
        "frames_damaged": salvaged.frames_damaged,
        "foreign_log": salvaged.foreign_log,
    }


def _lines(salvaged: Salvaged, into: Path) -> list[str]:
    lines = [f"{salvaged.kept} jobs are in {into}"]
    if salvaged.foreign_log:
        lines.append("the log of changes is another store's, and was left aside")
    if salvaged.frames_damaged:
        lines.append(f"{salvaged.frames_damaged} pages of the log of changes are damaged")
    if salvaged.changes_gone:
        lines.append(
            f"gone: the last {salvaged.changes_gone} changes; jobs are as they were before them, "
            "and may run again"
        )
    lines += [f"of the table {name} something is gone" for name in salvaged.incomplete]
    for one in salvaged.gone:
        name = f"{one.id} of {one.tenant}" if one.id else f"number {one.number}"
        lines.append(f"gone: {name}: {one.why}")
    if salvaged.unnamed:
        lines.append(f"gone: {salvaged.unnamed} more, of which nothing can be read")
    return lines
