"""`cuttlebone endpoint`: endpoint specs checked, imported from a roster, listed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from cuttlebone.cli.checked_files import DocumentArgument, read_bytes, read_bytes_if_there
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.endpoints.config.roster import (
    RosterImport,
    RosterRefused,
    Skipped,
    import_roster,
    read_overlay,
)
from cuttlebone.endpoints.config.spec import (
    InferenceSpec,
    InvalidConfig,
    MalformedSpec,
    base_url,
    read_spec,
    validate,
    write_spec,
)
from cuttlebone.endpoints.config.spec.file import (
    FILE_KEY,
    merged,
    read_endpoints,
    save_endpoints,
)
from cuttlebone.endpoints.config.spec.reading import field_pointer
from cuttlebone.errors import OperatorError
from cuttlebone.text.documents import MalformedDocument, read_document
from cuttlebone.text.json_values import Json

app = typer.Typer(help="Check endpoint specs, import them from a roster, list them.")

EndpointsOption: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--endpoints",
        envvar="CUTTLEBONE_ENDPOINTS",
        metavar="FILE",
        help="The host's endpoint file.",
    ),
]
DEFAULT_ENDPOINTS: Final = Path("endpoints.json")


@app.command(epilog="Example: cuttlebone endpoint check coder.yaml")
def check(path: DocumentArgument, *, as_json: JsonFlag = False) -> None:
    """Check an endpoint spec, or a whole endpoint file.

    The exit status is 0 if all is right and 1 if there is an error.
    """
    data = read_bytes(path, name="FILE")
    with _refusals(path, as_json=as_json):
        specs = _specs_in(read_document(data))
    if as_json:
        write_json({"endpoints": list(map(_described, specs)), "errors": []}, pretty=False)
    for spec in () if as_json else specs:
        write_line(f"ok       {_line(spec)}")


@app.command("import", epilog="Example: cuttlebone endpoint import roster.yaml --dry-run")
def import_(
    path: Annotated[Path, typer.Argument(metavar="ROSTER", help="A roster, in YAML.")],
    *,
    overlay_path: Annotated[
        Path | None,
        typer.Option(
            "--overlay", metavar="FILE", help="What the roster does not say: excludes and more."
        ),
    ] = None,
    endpoints: EndpointsOption = DEFAULT_ENDPOINTS,
    replaces: Annotated[
        bool,
        typer.Option("--replace", help="Let the roster win over roles that the file has already."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and write nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add the models of a roster to the host's endpoint file; the roster is only read.

    Every entry is imported, or skipped with its reason. A role that stands twice in the roster, or
    differently in the endpoint file, is an error, and then nothing is written: exit status 1.
    """
    roster = read_bytes(path, name="ROSTER")
    said = None if overlay_path is None else read_bytes(overlay_path, name="--overlay")
    kept = read_bytes_if_there(endpoints, name="--endpoints")
    with _refusals(overlay_path or path, as_json=as_json):
        overlay = None if said is None else read_overlay(said)
    with _refusals(path, as_json=as_json):
        result = import_roster(roster, overlay)
        result.refuse_repeated_roles()
    with _refusals(endpoints, as_json=as_json):
        served = () if kept is None else read_endpoints(read_document(kept))
        imported = [row.spec for row in result.imported]
        together = merged(served, imported, replaces=replaces)
    if not dry_run:
        with reporting(as_json=as_json):
            save_endpoints(endpoints, together)
    _write_import(result, endpoints, is_written=not dry_run, as_json=as_json)


@app.command("list", epilog="Example: cuttlebone endpoint list --json")
def list_(*, endpoints: EndpointsOption = DEFAULT_ENDPOINTS, as_json: JsonFlag = False) -> None:
    """List the endpoints in the host's endpoint file; a file that is not there holds none."""
    data = read_bytes_if_there(endpoints, name="--endpoints")
    with _refusals(endpoints, as_json=as_json):
        specs = () if data is None else read_endpoints(read_document(data))
    if as_json:
        write_json({"endpoints": list(map(_described, specs))}, pretty=False)
    for spec in () if as_json else specs:
        write_line(_line(spec))


@contextmanager
def _refusals(path: Path, *, as_json: bool) -> Iterator[None]:
    """Write what is refused in a file as a result, and leave with exit status 1."""
    try:
        yield
    except (MalformedDocument, MalformedSpec, InvalidConfig, RosterRefused) as refusal:
        field = getattr(refusal, "field", "")
        error = {"code": _code(refusal), "pointer": field_pointer(field), "message": str(refusal)}
        if as_json:
            write_json({"endpoints": [], "errors": [error]}, pretty=False)
        else:
            write_line(f"error    {path}: {refusal}")
        raise typer.Exit(ExitStatus.FAILED) from None


def _code(refusal: OperatorError) -> str:
    match refusal:
        case InvalidConfig():
            return refusal.code
        case RosterRefused():
            return refusal.fault
        case _:
            return "malformed"


def _specs_in(value: Json) -> tuple[InferenceSpec, ...]:
    if isinstance(value, dict) and FILE_KEY in value:
        return read_endpoints(value)
    spec = read_spec(value)
    validate(spec)
    return (spec,)


def _write_import(result: RosterImport, path: Path, *, is_written: bool, as_json: bool) -> None:
    if as_json:
        write_json(
            {
                "file": str(path),
                "written": is_written,
                "endpoints": [_described(row.spec) for row in result.imported],
                "skipped": list(map(_skipped, result.skipped)),
                "errors": [],
            },
            pretty=False,
        )
        return
    for row in result.imported:
        write_line(f"import   {_line(row.spec)}")
    for skipped in result.skipped:
        write_line(f"skip     {skipped.id}: {skipped.message}")
    counts = f"{len(result.imported)} imported, {len(result.skipped)} skipped"
    write_line(f"{counts}; {'written to' if is_written else 'dry run, not written to'} {path}")


def _skipped(row: Skipped) -> dict[str, Json]:
    described: dict[str, Json] = {"id": row.id, "reason": row.reason, "message": row.message}
    return described if row.alias_of is None else {**described, "alias_of": row.alias_of}


def _described(spec: InferenceSpec) -> dict[str, Json]:
    return {"url": base_url(spec), "spec": write_spec(spec)}


def _line(spec: InferenceSpec) -> str:
    gigabytes = (spec.memory.weights_bytes + spec.memory.kv_budget_bytes) / 1e9
    model = spec.model or "any model"
    return f"{spec.role}: {model} by {spec.runtime} at {base_url(spec)}, {gigabytes:g} GB"
