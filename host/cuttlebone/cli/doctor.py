"""`cuttlebone doctor`: what stands in the way of a host, before it is started."""

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.diagnosis import Condition, Diagnosis, diagnose
from cuttlebone.settings import Settings

app = typer.Typer()

_STYLES: Final = {Condition.FINE: "green", Condition.NOTE: "yellow", Condition.MEND: "bold red"}


@app.command(epilog="Example: cuttlebone doctor --specs specs --model smollm2=demo")
@takes_settings(*Settings.model_fields, here=True)
def doctor(
    stated: StatedSettings,
    *,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="As for a host that keeps jobs in memory.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Look at all that a host needs: isolation, specs, models, folders, disk, access, versions.

    Give it the options, the environment and the file that `serve` gets. Nothing is changed. The exit status
    is 0 if all is well and 1 if something has to be mended; each line says what.
    """
    with reporting(as_json=as_json):
        settings = stated.read()
        folder = None if no_state else settings.state_folder
        diagnoses = list(diagnose(settings.model_copy(update={"state": folder})))
    ill = any(one.condition is Condition.MEND for one in diagnoses)
    if as_json:
        write_json({"ok": not ill, "findings": [_plain(one) for one in diagnoses]}, pretty=False)
    else:
        _show(diagnoses)
    raise typer.Exit(ExitStatus.FAILED if ill else ExitStatus.DONE)


def _plain(diagnosis: Diagnosis) -> dict[str, str]:
    return {
        "area": diagnosis.area,
        "verdict": diagnosis.condition,
        "what": diagnosis.what,
        "advice": diagnosis.advice,
    }


def _show(diagnoses: list[Diagnosis]) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    for one in diagnoses:
        line = Text.assemble((f"{one.condition:<5}", _STYLES[one.condition]), f" {one.area}: ")
        console.print(line + Text(shown(one.what)), soft_wrap=True)
        if one.advice:
            console.print(Text(f"      → {shown(one.advice)}", "dim"), soft_wrap=True)
