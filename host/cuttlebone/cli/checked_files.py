"""Document files as the check commands take them, and what they write of a check."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cuttlebone.bench.findings import Finding, Report
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.text.documents import DOCUMENT_BYTES_MAX

DocumentArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="A document in YAML 1.2 or JSON.")
]


def read_bytes(path: Path, *, name: str) -> bytes:
    """Read a file, and one byte more than a document may have; raise typer.BadParameter.

    `name` is the parameter that named the file.
    """
    data = read_bytes_if_there(path, name=name)
    if data is None:
        raise typer.BadParameter(f"there is no file {path}", param_hint=name)
    return data


def read_bytes_if_there(path: Path, *, name: str) -> bytes | None:
    """Read a file like `read_bytes`; None if there is none."""
    try:
        with path.open("rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror}"
        raise typer.BadParameter(reason, param_hint=name) from None


def write_report(path: Path, report: Report, *, as_json: bool) -> None:
    """Write what a check found, then leave with exit status 0, or 1 if there are errors."""
    if as_json:
        write_json(
            {
                "verdict": report.verdict,
                "errors": findings_json(report.errors),
                "warnings": findings_json(report.warnings),
                "rules": {
                    name: {"value": rule.value, "source": rule.source}
                    for name, rule in report.rules.items()
                },
                "normalised": report.normalised,
            },
            pretty=False,
        )
    else:
        for kind, findings in (("error", report.errors), ("warning", report.warnings)):
            for found in findings:
                write_line(f"{kind:<8} {found.pointer or '/'}: {found.message}")
        for name, rule in report.rules.items():
            write_line(f"{'rule':<8} {name}: {rule.value} ({rule.source})")
        write_line(f"{report.verdict.replace('_', ' ')}: {path}")
    raise typer.Exit(ExitStatus.FAILED if report.errors else ExitStatus.DONE)


def findings_json(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Write findings for a program."""
    return [{"pointer": found.pointer, "message": found.message} for found in findings]
