"""`cuttlebone block check`: everything that is wrong with a wasm file, and the flag that mends it."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.doctor import Examination
from cuttlebone.authoring.looking import examine_file
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import json_text, write_json, write_line
from cuttlebone.cli.statuses import ExitStatus

app = typer.Typer()


@app.command(epilog="Example: cuttlebone block check my-block.wasm")
def check(
    path: Annotated[Path, typer.Argument(metavar="FILE.wasm", help="The module.")],
    *,
    as_json: JsonFlag = False,
) -> None:
    """Name everything that is wrong with a module, with the flag that mends it for its toolchain.

    It is compiled, and run up to its first command on the plainest input that its signature
    allows. The exit status is 1 if a host would refuse it; warnings do not count.
    """
    with reporting(as_json=as_json):
        found = examine_file(path)
    if as_json:
        write_json(
            {
                "usable": found.usable,
                "findings": [
                    {
                        "severity": finding.severity,
                        "message": finding.message,
                        "mendings": list(finding.mendings),
                    }
                    for finding in found.findings
                ],
                "facts": found.facts,
            },
            pretty=False,
        )
    else:
        _show(path, found)
    raise typer.Exit(ExitStatus.DONE if found.usable else ExitStatus.FAILED)


def _show(path: Path, found: Examination) -> None:
    # What mends several is said once, below the last of them: ten imports have one remedy.
    for mendings, findings in groupby(found.findings, key=lambda finding: finding.mendings):
        for finding in findings:
            write_line(f"{finding.severity:<8} {finding.message}")
        for mending in mendings:
            write_line(f"{'':<8} mend: {mending}")
    for name, value in found.facts.items():
        text = value if isinstance(value, str) else json_text(value, pretty=False)
        write_line(f"{name:<18} {text}")
    said = "a host runs it" if found.usable else "a host refuses it"
    errors = sum(finding.severity == "error" for finding in found.findings)
    write_line(f"{path}: {said}; {errors} errors, {len(found.findings) - errors} warnings")
