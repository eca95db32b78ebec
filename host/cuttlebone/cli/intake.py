"""`cuttlebone intake`: intakes checked and filled in."""

from datetime import UTC, datetime
from pathlib import Path

import typer

from cuttlebone.bench.findings import Finding, Report
from cuttlebone.bench.intake import check_intake
from cuttlebone.cli.checked_files import DocumentArgument, read_bytes, write_report
from cuttlebone.cli.options import JsonFlag
from cuttlebone.text.documents import MalformedDocument, read_document

app = typer.Typer(help="Check intakes: what is to be made fast, and how.")


@app.callback()
def _noun() -> None:
    """Keep `check` a command of its own, although it is the only one."""


@app.command(epilog="Example: cuttlebone intake check intake.yaml --json")
def check(path: DocumentArgument, *, as_json: JsonFlag = False) -> None:
    """Check an intake; with --json also show it with every default filled in.

    The exit status is 0 if it can be run, also with warnings, and 1 if it has an error.
    """
    write_report(path, report_of(path), as_json=as_json)


def report_of(path: Path, *, name: str = "FILE") -> Report:
    """Check the intake in a file; raise typer.BadParameter if the file cannot be read."""
    data = read_bytes(path, name=name)
    try:
        value = read_document(data)
    except MalformedDocument as error:
        return Report((Finding("", str(error)),))
    return check_intake(value, today=datetime.now(UTC).date())
