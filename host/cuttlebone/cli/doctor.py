"""`cuttlebone doctor`: what stands in the way of a host, before it is started."""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from cuttlebone.cli.diagnosis import Diagnosis, Severity, diagnose
from cuttlebone.cli.host_options import IsolationOption, ModelsOption, read_models, settings_with
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json
from cuttlebone.cli.statuses import ExitStatus

app = typer.Typer()

_STYLES: Final = {Severity.FINE: "green", Severity.NOTE: "yellow", Severity.MEND: "bold red"}


@app.command(epilog="Example: cuttlebone doctor --specs specs --model smollm2=demo")
def doctor(
    *,
    specs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of spec files. [default: specs]")
    ] = None,
    models: ModelsOption = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for compiled blocks. [default: the user's]"),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="State folder. [default: the user's]")
    ] = None,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="As for a host that keeps jobs in memory.")
    ] = False,
    isolation: IsolationOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Look at all that a host needs: isolation, specs, models, folders, disk, access, versions.

    Give it the options and the environment that `serve` gets. Nothing is changed. The exit status
    is 0 if all is well and 1 if something has to be mended; each line says what.
    """
    with reporting(as_json=as_json):
        settings = settings_with(
            specs=specs,
            models=read_models(models) or None,
            cache=cache,
            state=state,
            isolation=isolation,
        )
        folder = None if no_state else settings.state_folder
        findings = list(diagnose(settings.model_copy(update={"state": folder})))
    ill = any(one.verdict is Severity.MEND for one in findings)
    if as_json:
        write_json({"ok": not ill, "findings": [_plain(one) for one in findings]}, pretty=False)
    else:
        _show(findings)
    raise typer.Exit(ExitStatus.FAILED if ill else ExitStatus.DONE)


def _plain(finding: Diagnosis) -> dict[str, str]:
    return {
        "area": finding.area,
        "verdict": finding.verdict,
        "what": finding.what,
        "advice": finding.advice,
    }


def _show(findings: list[Diagnosis]) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    for one in findings:
        line = Text.assemble((f"{one.verdict:<5}", _STYLES[one.verdict]), f" {one.area}: ")
        console.print(line + Text(shown(one.what)), soft_wrap=True)
        if one.advice:
            console.print(Text(f"      → {shown(one.advice)}", "dim"), soft_wrap=True)
