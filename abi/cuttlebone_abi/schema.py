"""The JSON Schemas of the contract: `python -m cuttlebone_abi.schema [--check]` writes or compares them."""

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import TypeAdapter

from cuttlebone_abi.codes import ErrorCode, JobStatus
from cuttlebone_abi.commands import Command
from cuttlebone_abi.envelope import Envelope
from cuttlebone_abi.events import Event
from cuttlebone_abi.scalars import Json

FOLDER: Final = Path(__file__).resolve().parents[1] / "schema"

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SIGNATURE: Final[Json] = {
    "description": "What cf_signature returns: the types of the input and of the result.",
    "type": "object",
    "required": ["input", "output"],
    "properties": {"input": {"type": "string"}, "output": {"type": "string"}},
}


def schemas() -> dict[str, Json]:
    """Every schema by the name of its file."""
    bodies: dict[str, Json] = {
        "command.json": TypeAdapter(Command).json_schema(),
        "event.json": TypeAdapter(Event).json_schema(mode="serialization"),
        "envelope.json": TypeAdapter(Envelope).json_schema(mode="serialization"),
        "error-code.json": TypeAdapter(ErrorCode).json_schema(),
        "job-status.json": TypeAdapter(JobStatus).json_schema(),
        "signature.json": _SIGNATURE,
    }
    return {name: {"$schema": _DIALECT, **body} for name, body in bodies.items()}


def written(schema: Json) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=2) + "\n"


def stale(folder: Path) -> list[str]:
    """What differs between the schemas in `folder` and the types, a sentence each."""
    wanted = schemas()
    faults = [
        f"{folder / name} is not what the types say"
        for name, schema in wanted.items()
        if not (folder / name).is_file() or (folder / name).read_text() != written(schema)
    ]
    faults += [
        f"{path} is no schema of the contract"
        for path in sorted(folder.glob("*.json"))
        if path.name not in wanted
    ]
    return faults


def main(
    folder: Annotated[Path, typer.Option(help="Where the schema files are.")] = FOLDER,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if a file differs.")
    ] = False,
) -> None:
    """Write the JSON Schemas of commands, events, envelope, error codes, states and signatures."""
    if check:
        faults = stale(folder)
        for fault in faults:
            typer.echo(f"{fault}; run python -m cuttlebone_abi.schema", err=True)
        sys.exit(1 if faults else 0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / name).write_text(written(schema))


if __name__ == "__main__":
    typer.run(main)
