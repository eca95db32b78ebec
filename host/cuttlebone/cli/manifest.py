"""`cuttlebone manifest`: run manifests checked, alone or against their intake."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.bench.findings import Finding, Report
from cuttlebone.bench.manifest import check_manifest, pins_of
from cuttlebone.cli import intake
from cuttlebone.cli.checked_files import DocumentArgument, read_bytes, write_report
from cuttlebone.cli.options import JsonFlag
from cuttlebone.text.documents import MalformedDocument, read_document
from cuttlebone.text.json_values import Json

app = typer.Typer(help="Check run manifests: exactly what was run.")


@app.callback()
def _noun() -> None:
    """Keep `check` a command of its own, although it is the only one."""


@app.command(epilog="Example: cuttlebone manifest check run.yaml --intake intake.yaml")
def check(
    path: DocumentArgument,
    *,
    intake_path: Annotated[
        Path | None,
        typer.Option("--intake", metavar="FILE", help="The run's intake, for the pins in it."),
    ] = None,
    is_repeat: Annotated[
        bool,
        typer.Option("--repeat", help="Refuse a draft, as a run that repeats the manifest does."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check a run manifest; with --json also show it with every default filled in.

    The exit status is 0 if it is right, also as a draft or with warnings, and 1 if it has an error.
    """
    pins = None if intake_path is None else _pins(intake_path, as_json=as_json)
    data = read_bytes(path, name="FILE")
    try:
        report = check_manifest(read_document(data), pins=pins, is_repeat=is_repeat)
    except MalformedDocument as error:
        report = Report((Finding("", str(error)),))
    write_report(path, report, as_json=as_json)


def _pins(path: Path, *, as_json: bool) -> Mapping[str, Json]:
    report = intake.report_of(path, name="--intake")
    if report.normalised is None:
        write_report(path, report, as_json=as_json)
    return pins_of(report.normalised or {})
